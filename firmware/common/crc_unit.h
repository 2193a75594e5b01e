/* CRC-32 as zlib computes it, by the CRC unit of the chip. */
#ifndef CRC_UNIT_H
#define CRC_UNIT_H

#include <stdint.h>

/* Begins a CRC. */
void crc_unit_begin(void);

/* Returns the CRC of all words since crc_unit_begin. */
uint32_t crc_unit_add(const uint32_t *words, uint32_t count);

#endif
