/* The fixed-point arithmetic that all layers share; tinysplit/network/fixed_point/arithmetic.py does the same in NumPy.
 *
 * Right shifts of negative numbers are arithmetic, as GCC defines them.
 */
#ifndef FIXED_POINT_H
#define FIXED_POINT_H

#include <stdint.h>

#include "dsp.h"

/* A layer's constants: gathered by the linker from .weights.*, and kept as a symbol of their own in the ELF file. They
 * are copied by words.
 */
#define TINYSPLIT_WEIGHTS(name) __attribute__((used, aligned(4), section(".weights." #name)))

/* Constants in the board's configuration file (weights_file.h), as aligned as those. */
#define TINYSPLIT_IN_FILE __attribute__((aligned(4)))

/* For inner functions of a kernel: inlined, so that their loop counts are constants. */
#define TINYSPLIT_INLINE static inline __attribute__((always_inline))

static inline int32_t fixed_point_clamp(int32_t value, int32_t low, int32_t high) {
  return value < low ? low : (value > high ? high : value);
}

/* Divides by 2^shift (0 to 30) and rounds to nearest, halves up. */
static inline int32_t fixed_point_shift(int32_t sum, int32_t shift) {
  return (sum + ((1 << shift) >> 1)) >> shift;
}

/* Requantizes a sum and applies the fused activation. The compiler omits multiplications by a constant factor of 1, and
 * shifts by 0.
 */
TINYSPLIT_INLINE int32_t fixed_point_requantize(int32_t sum, int32_t pre_shift, int32_t factor, int32_t offset,
                                             int32_t post_shift, int32_t low, int32_t high) {
  return dsp_saturate((sum >> pre_shift) * factor + offset, post_shift, low, high);
}

/* The square root of a number from 2^30 on, rounded: 2^15 to 2^16. Where division is an instruction, by three of
 * Newton's steps from above, which leave less than one; else bit by bit.
 */
static inline uint32_t fixed_point_root(uint32_t square) {
#ifdef __ARM_FEATURE_IDIV
  uint32_t root = (square >> 17) + (1u << 15);
  for (int32_t step = 0; step < 3; step++) root = (root + square / root) >> 1;
  root -= root >> 16 || root * root > square;
#else
  uint32_t root = 0;
  for (uint32_t bit = 1u << 15; bit > 0; bit >>= 1) {
    const uint32_t larger = root | bit;
    root = larger * larger <= square ? larger : root;
  }
#endif
  return root + (square - root * root > root);
}

/* Divides by a positive count and rounds to nearest, halves up: C's division truncates, this one floors. */
static inline int32_t fixed_point_quotient(int32_t sum, int32_t count) {
  const int32_t numerator = sum + count / 2;
  const int32_t quotient = numerator / count;
  return quotient * count > numerator ? quotient - 1 : quotient;
}

/* The same for sums that pass 32 bits. */
static inline int64_t fixed_point_long_quotient(int64_t sum, int64_t count) {
  const int64_t numerator = sum + count / 2;
  const int64_t quotient = numerator / count;
  return quotient * count > numerator ? quotient - 1 : quotient;
}

#endif
