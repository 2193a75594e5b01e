/* Instructions of cores with the DSP extension (Cortex-M4, M7, M33), and equivalent C for all other cores.
 *
 * Inline assembler, because the names of intrinsics differ between compilers. tests/kernels/test_dsp.py compares both.
 */
#ifndef DSP_H
#define DSP_H

#include <stdint.h>

#include "dsp_twins.h"

/* Without optimisation the assembler would not see the constants that some instructions need. */
#if defined(__ARM_FEATURE_DSP) && defined(__OPTIMIZE__)
#define DSP_HAS_INSTRUCTIONS 1
#else
#define DSP_HAS_INSTRUCTIONS 0
#endif

/* The build defines DSP_DUAL_ISSUE for Cortex-M7, for which compilers have no macro: instructions stand in pairs. */

#define DSP_INLINE static inline __attribute__((always_inline))

/* For functions with the hottest loops: Cortex-M7 fetches 64 bits at a time. */
#define DSP_ALIGNED __attribute__((aligned(8)))

/* In assembler, before loads of 4 bytes: on Cortex-M4 they pipeline only at addresses that are multiples of 4. */
#define DSP_WORD_ALIGNED ".balign 4\n\t"

#if DSP_HAS_INSTRUCTIONS
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

/* Halves clamped to 0 .. 127. */
DSP_ONE(positive_halves, "usat16 %0, #7, %1")

/* The same half of both words. */
DSP_TWO(low_halves, "pkhbt %0, %1, %2, lsl #16")
DSP_TWO(high_halves, "pkhtb %0, %2, %1, asr #16")

/* A mask of a word that is shifted left by a byte; in one instruction, as the mask is in a register. */
DSP_TWO(masked_left, "and %0, %2, %1, lsl #8")

/* Half by half, byte by byte. */
DSP_TWO(add_halves, "sadd16 %0, %1, %2")
DSP_TWO(subtract_halves, "ssub16 %0, %1, %2")
DSP_TWO(max_bytes, "ssub8 %0, %1, %2\n\tsel %0, %1, %2")
DSP_TWO(min_bytes, "ssub8 %0, %1, %2\n\tsel %0, %2, %1")
DSP_TWO(max_halves, "ssub16 %0, %1, %2\n\tsel %0, %1, %2")
DSP_TWO(min_halves, "ssub16 %0, %1, %2\n\tsel %0, %2, %1")

/* Half by half, byte by byte: the saturated sum, half of the sum and half of the difference, rounded down. */
DSP_TWO(saturated_sum_bytes, "qadd8 %0, %1, %2")
DSP_TWO(saturated_sum_halves, "qadd16 %0, %1, %2")
DSP_TWO(half_sum_bytes, "shadd8 %0, %1, %2")
DSP_TWO(half_sum_halves, "shadd16 %0, %1, %2")
DSP_TWO(half_difference_bytes, "shsub8 %0, %1, %2")
DSP_TWO(half_difference_halves, "shsub16 %0, %1, %2")

/* The smaller of each unsigned byte of the first word and 255 minus that of the second. */
DSP_TWO(cap_bytes, "uqadd8 %0, %1, %2\n\tuqsub8 %0, %0, %2")

/* The sum and products of halves: both with both (dual MAC), or one of `x` with one of `w`. */
DSP_PRODUCT(dual, "smlad %0, %1, %2, %3")
DSP_PRODUCT(low_low, "smlabb %0, %1, %2, %3")
DSP_PRODUCT(low_high, "smlabt %0, %1, %2, %3")
DSP_PRODUCT(high_low, "smlatb %0, %1, %2, %3")
DSP_PRODUCT(high_high, "smlatt %0, %1, %2, %3")

/* The sum and the upper 32 of 48 bits of the product of a word and a half. */
DSP_PRODUCT(word_low, "smlawb %0, %1, %2, %3")
DSP_PRODUCT(word_high, "smlawt %0, %1, %2, %3")

/* Two values as halves. */
DSP_INLINE uint32_t dsp_pair(int32_t low, int32_t high) {
  return dsp_low_halves((uint32_t)low, (uint32_t)high);
}

/* Four values as bytes, without their upper bits. */
DSP_INLINE uint32_t dsp_bytes(int32_t a, int32_t b, int32_t c, int32_t d) {
#if DSP_HAS_INSTRUCTIONS
  __asm__("bfi %0, %1, #8, #8" : "+r"(a) : "r"(b));
  __asm__("bfi %0, %1, #8, #8" : "+r"(c) : "r"(d));
  return dsp_pair(a, c);
#else
  return dsp_twin_bytes(a, b, c, d);
#endif
}

/* Four values of at most 16 bits as bytes from 0 to 127. */
DSP_INLINE uint32_t dsp_positive_bytes(int32_t a, int32_t b, int32_t c, int32_t d) {
  return dsp_positive_halves(dsp_pair(a, c)) | dsp_positive_halves(dsp_pair(b, d)) << 8;
}

/* The upper half of a 64-bit product, rounded to nearest, halves up, plus a constant offset. */
DSP_INLINE int32_t dsp_multiply_high(int32_t value, int32_t factor, int32_t offset) {
#if DSP_HAS_INSTRUCTIONS
  int32_t result;
  if (offset == 0) {
    __asm__("smmulr %0, %1, %2" : "=r"(result) : "r"(value), "r"(factor));
  } else {
    __asm__("smmlar %0, %1, %2, %3" : "=r"(result) : "r"(value), "r"(factor), "r"(offset));
  }
  return result;
#else
  return dsp_twin_multiply_high(value, factor, offset);
#endif
}

/* The upper half of a 64-bit product, rounded down, plus an offset. */
DSP_INLINE int32_t dsp_multiply_add_high(int32_t value, int32_t factor, int32_t offset) {
#if DSP_HAS_INSTRUCTIONS
  int32_t result;
  __asm__("smmla %0, %1, %2, %3" : "=r"(result) : "r"(value), "r"(factor), "r"(offset));
  return result;
#else
  return dsp_twin_multiply_add_high(value, factor, offset);
#endif
}

/* Requantization as in TensorFlow Lite, not clamped: see TfliteRequantization in network/fixed_point/arithmetic.py.
 * The last bit that a shift drops is in the carry, which rounds. Of numbers below zero ADDS sets the carry: a shift by
 * 0 leaves it so, which undoes the addition.
 */
#if DSP_HAS_INSTRUCTIONS
#define DSP_ROUNDED(name, instructions) \
  DSP_INLINE int32_t dsp_rounded_##name(int32_t sum, int32_t multiplier, int32_t shift, int32_t zero) { \
    int32_t result; \
    __asm__(instructions "asrs %0, %0, %3\n\tadc %0, %0, %4" \
            : "=&r"(result) : "r"(sum), "r"(multiplier), "r"(shift), "r"(zero) : "cc"); \
    return result; \
  }
#else
#define DSP_ROUNDED(name, instructions) \
  DSP_INLINE int32_t dsp_rounded_##name(int32_t sum, int32_t multiplier, int32_t shift, int32_t zero) { \
    return dsp_twin_rounded_##name(sum, multiplier, shift, zero); \
  }
#endif
DSP_ROUNDED(twice, "lsl %0, %1, #1\n\tsmmulr %0, %0, %2\n\tadds %0, %0, %0, asr #31\n\t")
DSP_ROUNDED(once, "lsl %0, %1, #2\n\tsmmul %0, %0, %2\n\t")

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

/* The bytes of a table at each byte of a word. The loads stand together: the first of several takes a cycle more. */
DSP_INLINE uint32_t dsp_look_up(const void *table, uint32_t word) {
#if DSP_HAS_INSTRUCTIONS
  uint32_t a = word & 255, b = word >> 8 & 255, c = word >> 16 & 255, d = word >> 24;
  __asm__(
      "ldrb %0, [%4, %0]\n\tldrb %1, [%4, %1]\n\tldrb %2, [%4, %2]\n\tldrb %3, [%4, %3]\n\t"
      "orr %0, %0, %1, lsl #8\n\torr %2, %2, %3, lsl #8\n\torr %0, %0, %2, lsl #16"
      : "+r"(a), "+r"(b), "+r"(c), "+r"(d) : "r"(table) : "memory");
  return a;
#else
  return dsp_twin_look_up(table, word);
#endif
}

DSP_INLINE void dsp_store(void *address, uint32_t word) {
  __builtin_memcpy(address, &word, sizeof word);
}

/* What these store they have calculated: Cortex-M7 does both in a cycle if they stand together. */
#if DSP_HAS_INSTRUCTIONS && defined(DSP_DUAL_ISSUE)
typedef uint32_t __attribute__((may_alias, aligned(2))) dsp_word;
#define DSP_STORE(name, instruction) \
  DSP_INLINE void dsp_store_##name(void *address, uint32_t word) { \
    uint32_t result; \
    __asm__(instruction "\n\tstr %0, %1" : "=&r"(result), "=m"(*(dsp_word *)address) : "r"(word)); \
  }
#define DSP_STORE_TWO(name, instruction) \
  DSP_INLINE void dsp_store_##name(void *address, uint32_t first, uint32_t second) { \
    uint32_t result; \
    __asm__(instruction "\n\tstr %0, %1" : "=&r"(result), "=m"(*(dsp_word *)address) : "r"(first), "r"(second)); \
  }
#else
#define DSP_STORE(name, instruction) \
  DSP_INLINE void dsp_store_##name(void *address, uint32_t word) { dsp_store(address, dsp_##name(word)); }
#define DSP_STORE_TWO(name, instruction) \
  DSP_INLINE void dsp_store_##name(void *address, uint32_t first, uint32_t second) { \
    dsp_store(address, dsp_##name(first, second)); \
  }
#endif

DSP_STORE(even_bytes, "sxtb16 %0, %2")
DSP_STORE(odd_bytes, "sxtb16 %0, %2, ror #8")
DSP_STORE_TWO(low_halves, "pkhbt %0, %2, %3, lsl #16")
DSP_STORE_TWO(high_halves, "pkhtb %0, %3, %2, asr #16")

/* Widens four bytes. */
DSP_INLINE void dsp_widen_word(uint32_t word, int16_t *halves) {
  const uint32_t even = dsp_even_bytes(word), odd = dsp_odd_bytes(word);
  dsp_store_low_halves(halves, even, odd);
  dsp_store_high_halves(halves + 2, even, odd);
}

/* Widens `count` bytes; reads nothing beyond them. */
DSP_INLINE void dsp_widen(const int8_t *bytes, int16_t *halves, int32_t count) {
  for (; count >= 8; count -= 8) {
    const uint32_t first = dsp_load(bytes), second = dsp_load(bytes + 4);
    dsp_widen_word(first, halves);
    dsp_widen_word(second, halves + 4);
    bytes += 8;
    halves += 8;
  }
  if (count >= 4) {
    dsp_widen_word(dsp_load(bytes), halves);
    bytes += 4;
    halves += 4;
    count -= 4;
  }
  for (; count > 0; count--) {
    *halves++ = *bytes++;
  }
}

/* Widens four bytes, which lie in the order 0 2 1 3 afterwards. */
DSP_INLINE void dsp_widen_four(uint32_t word, int16_t *halves) {
  dsp_store_even_bytes(halves, word);
  dsp_store_odd_bytes(halves + 2, word);
}

/* Widens `count` bytes, a multiple of four, in groups of four. */
DSP_INLINE void dsp_widen_grouped(const int8_t *bytes, int16_t *halves, int32_t count) {
  for (; count >= 16; count -= 16) {
    const uint32_t a = dsp_load(bytes), b = dsp_load(bytes + 4), c = dsp_load(bytes + 8), d = dsp_load(bytes + 12);
    dsp_widen_four(a, halves);
    dsp_widen_four(b, halves + 4);
    dsp_widen_four(c, halves + 8);
    dsp_widen_four(d, halves + 12);
    bytes += 16;
    halves += 16;
  }
  for (; count > 0; count -= 4) {
    dsp_widen_four(dsp_load(bytes), halves);
    bytes += 4;
    halves += 4;
  }
}

/* Keeps the compiler from replacing a loop by a call of memcpy() or memset(), which are slow in newlib-nano. */
#define DSP_NO_CALL __asm__ volatile("" ::: "memory")

/* Copies `count` halves. */
DSP_INLINE void dsp_copy_halves(const int16_t *from, int16_t *to, int32_t count) {
#pragma GCC unroll 4
  for (; count >= 4; count -= 4) {
    const uint32_t first = dsp_load(from), second = dsp_load(from + 2);
    dsp_store(to, first);
    dsp_store(to + 2, second);
    from += 4;
    to += 4;
    DSP_NO_CALL;
  }
  for (; count > 0; count--) {
    *to++ = *from++;
    DSP_NO_CALL;
  }
}

/* Sets `count` halves. */
DSP_INLINE void dsp_fill_halves(int16_t *to, int32_t value, int32_t count) {
  const uint32_t word = dsp_pair(value, value);
#pragma GCC unroll 2
  for (; count >= 2; count -= 2) {
    dsp_store(to, word);
    to += 2;
    DSP_NO_CALL;
  }
  if (count > 0) {
    *to = (int16_t)value;
  }
}

/* Shifts right and saturates to a range; one instruction where `shift` and a range of whole bits are constants. */
DSP_INLINE int32_t dsp_saturate(int32_t value, int32_t shift, int32_t low, int32_t high) {
#if DSP_HAS_INSTRUCTIONS
#define DSP_SATURATE(instruction) \
  if (shift > 0) { \
    __asm__(instruction ", asr %2" : "=r"(result) : "r"(value), "i"(shift)); \
  } else { \
    __asm__(instruction : "=r"(result) : "r"(value)); \
  }
  int32_t result;
  if (low == INT8_MIN && high == INT8_MAX) {
    DSP_SATURATE("ssat %0, #8, %1")
    return result;
  }
  if (low == INT16_MIN && high == INT16_MAX) {
    DSP_SATURATE("ssat %0, #16, %1")
    return result;
  }
  if (low == 0 && high == INT16_MAX) {
    DSP_SATURATE("usat %0, #15, %1")
    return result;
  }
  if (low == 0 && high <= INT8_MAX) {
    DSP_SATURATE("usat %0, #7, %1")
    return high == INT8_MAX || result < high ? result : high;
  }
#endif
  return dsp_twin_saturate(value, shift, low, high);
}

#endif
