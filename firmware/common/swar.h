/* SIMD within a register (SWAR): four bytes in a word in plain C, for cores without DSP instructions. Signed values x
 * are stored as x + 128.
 */
#ifndef SWAR_H
#define SWAR_H

#include <stdint.h>

#define SWAR_EVERY(byte) (0x01010101u * (byte))
#define SWAR_INLINE static inline __attribute__((always_inline))

/* A word at an address that is a multiple of four. */
SWAR_INLINE uint32_t swar_load(const void *address) {
  uint32_t word;
  __builtin_memcpy(&word, __builtin_assume_aligned(address, 4), sizeof word);
  return word;
}

SWAR_INLINE void swar_store(void *address, uint32_t word) {
  __builtin_memcpy(__builtin_assume_aligned(address, 4), &word, sizeof word);
}

/* 127 where bit 7 of a byte is set. */
SWAR_INLINE uint32_t swar_bit_7(uint32_t word) {
  const uint32_t bits = word & SWAR_EVERY(128);
  return bits - (bits >> 7);
}

/* Half of the sum, rounded down. */
SWAR_INLINE uint32_t swar_half_sum(uint32_t a, uint32_t b) {
  return (a & b) + (((a ^ b) >> 1) & SWAR_EVERY(127));
}

/* Half of the sum, rounded up. */
SWAR_INLINE uint32_t swar_half_sum_up(uint32_t a, uint32_t b) {
  return (a | b) - (((a ^ b) >> 1) & SWAR_EVERY(127));
}

/* Half of a signed value, rounded up. */
SWAR_INLINE uint32_t swar_half_up(uint32_t a) {
  return a - ((a >> 1) & SWAR_EVERY(127)) + SWAR_EVERY(64);
}

/* The sum of signed values, clamped to -128 .. 127. Bit 7 of `low` is carried; of the three bits 7 that make up the
 * rest of x + 128 + y + 128, none, one, two or three are set.
 */
SWAR_INLINE uint32_t swar_sum(uint32_t a, uint32_t b) {
  const uint32_t low = (a & SWAR_EVERY(127)) + (b & SWAR_EVERY(127));
  const uint32_t both = a & b, either = a | b;
  const uint32_t clamped = (low | swar_bit_7(both & low)) & swar_bit_7(either | low);
  return clamped | ((both | (either & low)) & SWAR_EVERY(128));
}

/* The sum of signed values, clamped to 0 .. 127, as it is. */
SWAR_INLINE uint32_t swar_positive_sum(uint32_t a, uint32_t b) {
  const uint32_t low = (a & SWAR_EVERY(127)) + (b & SWAR_EVERY(127));
  const uint32_t both = a & b, either = a | b;
  return (low | swar_bit_7(both & low)) & swar_bit_7(both | (either & low));
}

/* The larger ones of bytes from 0 to 127. */
SWAR_INLINE uint32_t swar_max(uint32_t a, uint32_t b) {
  const uint32_t difference = (a | SWAR_EVERY(128)) - b;
  return b + (difference & swar_bit_7(difference));
}

#endif
