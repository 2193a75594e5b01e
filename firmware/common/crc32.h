/* CRC-32 as zlib computes it (polynomial 0xEDB88320, reflected), with a table of 16 words. */
#ifndef CRC32_H
#define CRC32_H

#include <stdint.h>

/* The register of a CRC is the complement of its value: begin with ~value, end with ~register. The table lies in RAM:
 * data reads from flash make the core wait, and take it from instructions on a Cortex-M0+. */
extern uint32_t crc32_nibbles[16];

__attribute__((always_inline)) static inline uint32_t crc32_nibble(uint32_t crc) {
  uint32_t offset = (crc << 2) & 60u;
  return (crc >> 4) ^ *(const uint32_t *)((const uint8_t *)crc32_nibbles + offset);
}

static inline uint32_t crc32_byte(uint32_t crc, uint8_t byte) { return crc32_nibble(crc32_nibble(crc ^ byte)); }

/* Copies `count` bytes, and returns the register behind them. */
uint32_t crc32_copy(uint32_t crc, uint8_t *to, const uint8_t *from, uint32_t count);

/* As zlib.crc32(bytes, start): `start` is the CRC of what came before, 0 at the beginning. */
uint32_t crc32(uint32_t start, const uint8_t *bytes, uint32_t count);

/* The register after `count` bytes of 0. Since a CRC is linear, the register behind bytes b that began with s is
 * crc32_zeros(s ^ t, count) ^ (the register behind b that began with t). `count` is below 4096. */
uint32_t crc32_zeros(uint32_t crc, uint32_t count);

#endif
