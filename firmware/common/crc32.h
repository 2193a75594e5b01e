/* CRC-32 as zlib computes it (polynomial 0xEDB88320, reflected), with a table of 16 words. */
#ifndef CRC32_H
#define CRC32_H

#include <stdint.h>

/* Copies `count` bytes, and returns the register behind them. A register is the complement of the CRC: begin with
 * ~value, end with ~register. */
uint32_t crc32_copy(uint32_t crc, uint8_t *to, const uint8_t *from, uint32_t count);

/* As zlib.crc32(bytes, start): `start` is the CRC of what came before, 0 at the beginning. */
uint32_t crc32(uint32_t start, const uint8_t *bytes, uint32_t count);

/* The register after `count` bytes of 0. Since a CRC is linear, the register behind bytes b that began with s is
 * crc32_zeros(s ^ t, count) ^ (the register behind b that began with t). `count` is below 4096. */
uint32_t crc32_zeros(uint32_t crc, uint32_t count);

#endif
