/* The instructions of cores with the DSP extension (Cortex-M4, M7, M33), and on all others their twins in C.
 *
 * tests/test_dsp.py runs both on a virtual board. Compilers differ in what their intrinsics are called, not in these.
 */
#ifndef DSP_H
#define DSP_H

#include <stdint.h>

#include "dsp_twins.h"

#define DSP_INLINE static inline __attribute__((always_inline))

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP
#define DSP_ONE(name, instruction) \
  DSP_INLINE uint32_t dsp_##name(uint32_t word) { \
    uint32_t result; \
    __asm__(instruction : "=r"(result) : "r"(word)); \
    return result; \
  }
#define DSP_TWO(name, instruction) \
  DSP_INLINE uint32_t dsp_##name(uint32_t first, uint32_t second) { \
    uint32_t result; \
    __asm__(instruction : "=&r"(result) : "r"(first), "r"(second)); \
    return result; \
  }
#define DSP_PRODUCT(name, instruction) \
  DSP_INLINE int32_t dsp_##name(uint32_t x, uint32_t w, int32_t sum) { \
    int32_t result; \
    __asm__(instruction : "=r"(result) : "r"(x), "r"(w), "r"(sum)); \
    return result; \
  }
#else
#define DSP_ONE(name, instruction) \
  DSP_INLINE uint32_t dsp_##name(uint32_t word) { return dsp_twin_##name(word); }
#define DSP_TWO(name, instruction) \
  DSP_INLINE uint32_t dsp_##name(uint32_t first, uint32_t second) { return dsp_twin_##name(first, second); }
#define DSP_PRODUCT(name, instruction) \
  DSP_INLINE int32_t dsp_##name(uint32_t x, uint32_t w, int32_t sum) { return dsp_twin_##name(x, w, sum); }
#endif

/* Bytes 0 and 2, or 1 and 3, as halves. */
DSP_ONE(even_bytes, "sxtb16 %0, %1")
DSP_ONE(odd_bytes, "sxtb16 %0, %1, ror #8")

/* The same half of both words. */
DSP_TWO(low_halves, "pkhbt %0, %1, %2, lsl #16")
DSP_TWO(high_halves, "pkhtb %0, %2, %1, asr #16")

/* Half by half, byte by byte. */
DSP_TWO(add_halves, "sadd16 %0, %1, %2")
DSP_TWO(max_bytes, "ssub8 %0, %1, %2\n\tsel %0, %1, %2")

/* The sum and products of halves: both with both, or one of `x` with one of `w`. */
DSP_PRODUCT(dual, "smlad %0, %1, %2, %3")
DSP_PRODUCT(low_low, "smlabb %0, %1, %2, %3")
DSP_PRODUCT(low_high, "smlabt %0, %1, %2, %3")
DSP_PRODUCT(high_low, "smlatb %0, %1, %2, %3")
DSP_PRODUCT(high_high, "smlatt %0, %1, %2, %3")

/* Two values as halves. */
DSP_INLINE uint32_t dsp_pair(int32_t low, int32_t high) {
  return dsp_low_halves((uint32_t)low, (uint32_t)high);
}

/* A word, or half of one, at any address. */
DSP_INLINE uint32_t dsp_load(const void *address) {
  uint32_t word;
  __builtin_memcpy(&word, address, sizeof word);
  return word;
}

DSP_INLINE uint32_t dsp_load_half(const void *address) {
  uint16_t half;
  __builtin_memcpy(&half, address, sizeof half);
  return half;
}

DSP_INLINE void dsp_store(void *address, uint32_t word) {
  __builtin_memcpy(address, &word, sizeof word);
}

/* Widens `count` bytes, those behind the last four not as words, so that nothing behind them is read. */
DSP_INLINE void dsp_widen(const int8_t *bytes, int16_t *halves, int32_t count) {
  for (; count >= 4; count -= 4) {
    const uint32_t word = dsp_load(bytes);
    const uint32_t even = dsp_even_bytes(word), odd = dsp_odd_bytes(word);
    dsp_store(halves, dsp_low_halves(even, odd));
    dsp_store(halves + 2, dsp_high_halves(even, odd));
    bytes += 4;
    halves += 4;
  }
  for (; count > 0; count--) {
    *halves++ = *bytes++;
  }
}

/* Widens `count` bytes, a multiple of four; every four lie in the order 0 2 1 3 afterwards. */
DSP_INLINE void dsp_widen_grouped(const int8_t *bytes, int16_t *halves, int32_t count) {
#pragma GCC unroll 4
  for (; count > 0; count -= 4) {
    const uint32_t word = dsp_load(bytes);
    dsp_store(halves, dsp_even_bytes(word));
    dsp_store(halves + 2, dsp_odd_bytes(word));
    bytes += 4;
    halves += 4;
  }
}

/* Copies `count` halves. */
DSP_INLINE void dsp_copy_halves(const int16_t *from, int16_t *to, int32_t count) {
  for (; count >= 2; count -= 2) {
    dsp_store(to, dsp_load(from));
    from += 2;
    to += 2;
  }
  if (count > 0) {
    *to = *from;
  }
}

/* Shifts right and saturates to a range; one instruction where `shift` and a range of whole bits are constants. */
DSP_INLINE int32_t dsp_saturate(int32_t value, int32_t shift, int32_t low, int32_t high) {
#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP
  int32_t result;
  if (shift > 0 && low == INT8_MIN && high == INT8_MAX) {
    __asm__("ssat %0, #8, %1, asr %2" : "=r"(result) : "r"(value), "i"(shift));
    return result;
  }
  if (shift > 0 && low == 0 && high <= INT8_MAX) {
    __asm__("usat %0, #7, %1, asr %2" : "=r"(result) : "r"(value), "i"(shift));
    return high == INT8_MAX || result < high ? result : high;
  }
  if (shift > 0 && low == INT16_MIN && high == INT16_MAX) {
    __asm__("ssat %0, #16, %1, asr %2" : "=r"(result) : "r"(value), "i"(shift));
    return result;
  }
#endif
  return dsp_twin_saturate(value, shift, low, high);
}

#endif
