/* Dot products of two neighbouring pixels, or one, with the weights of four output channels.
 *
 * `x` holds 16-bit values, the second pixel `distance` bytes behind the first; both are read in pairs of values.
 * Weights come in the order in which they are read, and the functions return where they end:
 *
 *   packed  For every pair of values two words. The halves of the first are 256 * w1 + w0 of channels 0 and 1, the
 *           second is the same of channels 2 and 3: multiplied as they are they give 256 times the sum of channel 1
 *           plus that of channel 0, for which the low bytes are taken out. So two channels share a word, and but one
 *           of them costs an instruction. sums[0] and sums[2] are sums of channels, sums[1] and sums[3] have to be
 *           taken apart: dsp_second().
 *   wide    For every pair of values four words of 16-bit weights, one a channel.
 *
 * sums[0] to [3] are of the first pixel, [4] to [7] of the second. The loops are assembler because they need all 14
 * registers: eight sums, two addresses, two words of values and two of weights.
 */
#ifndef DSP_DOT_H
#define DSP_DOT_H

#include "dsp.h"

/* 256 times what channel 1 (3) adds up to, and that sum; exact when it is within 24 bits. */
DSP_INLINE int32_t dsp_difference(int32_t both, int32_t first) {
  return (int32_t)((uint32_t)both - (uint32_t)first);
}

DSP_INLINE int32_t dsp_second(int32_t both, int32_t first) {
  return dsp_difference(both, first) >> 8;
}

static inline const void *dsp_twin_dot_packed(int32_t *sums, int32_t pixels, const void *x, int32_t distance,
                                              const void *w, int32_t pairs) {
  for (int32_t pair = 0; pair < pairs; pair++) {
    for (int32_t pixel = 0; pixel < pixels; pixel++) {
      uint32_t values, words[2];
      __builtin_memcpy(&values, (const uint8_t *)x + pixel * distance + 4 * pair, sizeof values);
      __builtin_memcpy(words, (const uint8_t *)w + 8 * pair, sizeof words);
      for (int32_t i = 0; i < 2; i++) {
        int32_t *own = sums + 4 * pixel + 2 * i;
        own[0] = dsp_twin_dual(values, dsp_twin_even_bytes(words[i]), own[0]);
        own[1] = dsp_twin_dual(values, words[i], own[1]);
      }
    }
  }
  return (const uint8_t *)w + 8 * pairs;
}

static inline const void *dsp_twin_dot_wide(int32_t *sums, int32_t pixels, const void *x, int32_t distance,
                                            const void *w, int32_t pairs) {
  for (int32_t pair = 0; pair < pairs; pair++) {
    for (int32_t pixel = 0; pixel < pixels; pixel++) {
      uint32_t values, words[4];
      __builtin_memcpy(&values, (const uint8_t *)x + pixel * distance + 4 * pair, sizeof values);
      __builtin_memcpy(words, (const uint8_t *)w + 16 * pair, sizeof words);
      for (int32_t i = 0; i < 4; i++) {
        sums[4 * pixel + i] = dsp_twin_dual(values, words[i], sums[4 * pixel + i]);
      }
    }
  }
  return (const uint8_t *)w + 16 * pairs;
}

#if DSP_HAS_INSTRUCTIONS

/* One pair of values. Loads stand together, because on Cortex-M4 the first of several takes a cycle more. */
#define DSP_PACKED_TWO \
  "ldr %[x1], [%[x], %[distance]]\n\t" \
  "ldr %[x0], [%[x]], #4\n\t" \
  "ldr %[w1], [%[w], #4]\n\t" \
  "ldr %[w0], [%[w]], #8\n\t" \
  "smlad %[s1], %[w0], %[x0], %[s1]\n\t" \
  "smlad %[s5], %[w0], %[x1], %[s5]\n\t" \
  "sxtb16 %[w0], %[w0]\n\t" \
  "smlad %[s3], %[w1], %[x0], %[s3]\n\t" \
  "smlad %[s7], %[w1], %[x1], %[s7]\n\t" \
  "sxtb16 %[w1], %[w1]\n\t" \
  "smlad %[s0], %[w0], %[x0], %[s0]\n\t" \
  "smlad %[s4], %[w0], %[x1], %[s4]\n\t" \
  "smlad %[s2], %[w1], %[x0], %[s2]\n\t" \
  "smlad %[s6], %[w1], %[x1], %[s6]\n\t"

#define DSP_PACKED_ONE \
  "ldr %[x0], [%[x]], #4\n\t" \
  "ldr %[w1], [%[w], #4]\n\t" \
  "ldr %[w0], [%[w]], #8\n\t" \
  "smlad %[s1], %[w0], %[x0], %[s1]\n\t" \
  "smlad %[s3], %[w1], %[x0], %[s3]\n\t" \
  "sxtb16 %[w0], %[w0]\n\t" \
  "sxtb16 %[w1], %[w1]\n\t" \
  "smlad %[s0], %[w0], %[x0], %[s0]\n\t" \
  "smlad %[s2], %[w1], %[x0], %[s2]\n\t"

#define DSP_WIDE_TWO \
  "ldr %[x1], [%[x], %[distance]]\n\t" \
  "ldr %[x0], [%[x]], #4\n\t" \
  "ldr %[w1], [%[w], #4]\n\t" \
  "ldr %[w0], [%[w]], #8\n\t" \
  "smlad %[s0], %[w0], %[x0], %[s0]\n\t" \
  "smlad %[s4], %[w0], %[x1], %[s4]\n\t" \
  "smlad %[s1], %[w1], %[x0], %[s1]\n\t" \
  "smlad %[s5], %[w1], %[x1], %[s5]\n\t" \
  "ldr %[w1], [%[w], #4]\n\t" \
  "ldr %[w0], [%[w]], #8\n\t" \
  "smlad %[s2], %[w0], %[x0], %[s2]\n\t" \
  "smlad %[s6], %[w0], %[x1], %[s6]\n\t" \
  "smlad %[s3], %[w1], %[x0], %[s3]\n\t" \
  "smlad %[s7], %[w1], %[x1], %[s7]\n\t"

#define DSP_WIDE_ONE \
  "ldr %[x0], [%[x]], #4\n\t" \
  "ldr %[w1], [%[w], #4]\n\t" \
  "ldr %[w0], [%[w]], #8\n\t" \
  "smlad %[s0], %[w0], %[x0], %[s0]\n\t" \
  "smlad %[s1], %[w1], %[x0], %[s1]\n\t" \
  "ldr %[w1], [%[w], #4]\n\t" \
  "ldr %[w0], [%[w]], #8\n\t" \
  "smlad %[s2], %[w0], %[x0], %[s2]\n\t" \
  "smlad %[s3], %[w1], %[x0], %[s3]\n\t"

#define DSP_EIGHT(step) step step step step step step step step

#define DSP_ONE_PIXEL \
  [s0] "+r"(s0), [s1] "+r"(s1), [s2] "+r"(s2), [s3] "+r"(s3), [x] "+r"(x), [w] "+r"(w), [x0] "=&r"(x0), \
      [w0] "=&r"(w0), [w1] "=&r"(w1)
#define DSP_TWO_PIXELS \
  DSP_ONE_PIXEL, [s4] "+r"(s4), [s5] "+r"(s5), [s6] "+r"(s6), [s7] "+r"(s7), [x1] "=&r"(x1)

/* All pairs: whole eights, or sixteens, in a loop, whose end is kept in memory, because no register is left for it. */
#define DSP_RUN(step, operands) \
  do { \
    if (pairs >= 32 && pairs % 16 == 0) { \
      const uint8_t *end = (const uint8_t *)x + pairs * 4; \
      __asm__ volatile("1:\n\t" DSP_EIGHT(step) DSP_EIGHT(step) "ldr %[w0], %[end]\n\tcmp %[x], %[w0]\n\tbne 1b" \
                       : operands \
                       : [end] "m"(end), [distance] "i"(distance) \
                       : "cc", "memory"); \
    } else if (pairs == 16) { \
      __asm__ volatile(DSP_EIGHT(step) DSP_EIGHT(step) : operands : [distance] "i"(distance) : "memory"); \
    } else if (pairs > 16) { \
      const uint8_t *end = (const uint8_t *)x + pairs / 8 * 32; \
      __asm__ volatile("1:\n\t" DSP_EIGHT(step) "ldr %[w0], %[end]\n\tcmp %[x], %[w0]\n\tbne 1b" \
                       : operands \
                       : [end] "m"(end), [distance] "i"(distance) \
                       : "cc", "memory"); \
    } else if (pairs >= 8) { \
      __asm__ volatile(DSP_EIGHT(step) : operands : [distance] "i"(distance) : "memory"); \
    } \
    _Pragma("GCC unroll 8") for (int32_t pair = 0; pair < pairs % 8; pair++) { \
      __asm__ volatile(step : operands : [distance] "i"(distance) : "memory"); \
    } \
  } while (0)

/* The four functions; `distance` and `pairs` must be constants. */
#define DSP_DOT_ONE(name, step) \
  DSP_INLINE const void *name(int32_t *sums, const void *x, const void *w, int32_t pairs) { \
    enum { distance = 0 }; \
    int32_t s0 = sums[0], s1 = sums[1], s2 = sums[2], s3 = sums[3]; \
    uint32_t x0, w0, w1; \
    DSP_RUN(step, DSP_ONE_PIXEL); \
    sums[0] = s0, sums[1] = s1, sums[2] = s2, sums[3] = s3; \
    return w; \
  }
#define DSP_DOT_TWO(name, step) \
  DSP_INLINE const void *name(int32_t *sums, const void *x, int32_t distance, const void *w, int32_t pairs) { \
    int32_t s0 = sums[0], s1 = sums[1], s2 = sums[2], s3 = sums[3]; \
    int32_t s4 = sums[4], s5 = sums[5], s6 = sums[6], s7 = sums[7]; \
    uint32_t x0, x1, w0, w1; \
    DSP_RUN(step, DSP_TWO_PIXELS); \
    sums[0] = s0, sums[1] = s1, sums[2] = s2, sums[3] = s3; \
    sums[4] = s4, sums[5] = s5, sums[6] = s6, sums[7] = s7; \
    return w; \
  }
DSP_DOT_ONE(dsp_dot_packed_one, DSP_PACKED_ONE)
DSP_DOT_TWO(dsp_dot_packed_two, DSP_PACKED_TWO)
DSP_DOT_ONE(dsp_dot_wide_one, DSP_WIDE_ONE)
DSP_DOT_TWO(dsp_dot_wide_two, DSP_WIDE_TWO)

#else

#define DSP_DOT(layout) \
  DSP_INLINE const void *dsp_dot_##layout##_one(int32_t *sums, const void *x, const void *w, int32_t pairs) { \
    return dsp_twin_dot_##layout(sums, 1, x, 0, w, pairs); \
  } \
  DSP_INLINE const void *dsp_dot_##layout##_two(int32_t *sums, const void *x, int32_t distance, const void *w, \
                                                int32_t pairs) { \
    return dsp_twin_dot_##layout(sums, 2, x, distance, w, pairs); \
  }
DSP_DOT(packed)
DSP_DOT(wide)

#endif
#endif
