/* Dot products of two vectors of 16-bit values, the second `distance` bytes after the first, with the weights of four
 * output channels: for every pair of values four words of weights, one a channel.
 *
 * sums[0] to [3] are of the first vector, [4] to [7] of the second. In assembler, because the loop needs all 14
 * registers: eight sums, two addresses, two words of values and two of weights.
 */
#ifndef DSP_DOT_H
#define DSP_DOT_H

#include "dsp.h"

static inline const void *dsp_twin_dot_two(int32_t *sums, const void *x, int32_t distance, const void *w,
                                           int32_t pairs) {
  for (int32_t pair = 0; pair < pairs; pair++) {
    for (int32_t pixel = 0; pixel < 2; pixel++) {
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

#ifdef DSP_DUAL_ISSUE
/* One pair of values. Every cycle has a product; loads issue beside them, two cycles before their value is multiplied.
 * The last pair reads the first word behind the weights and both vectors in vain.
 */
#define DSP_FIRST_WORDS \
  __asm__ volatile("ldr.w %[x0], [%[x]]\n\tldr.w %[w0], [%[w]]\n\tldr.w %[x1], [%[x], %[distance]]" \
                   : [x0] "=&r"(x0), [x1] "=&r"(x1), [w0] "=&r"(w0) \
                   : [x] "r"(x), [w] "r"(w), [distance] "i"(distance) \
                   : "memory");
#define DSP_STEP \
  "smlad %[s0], %[w0], %[x0], %[s0]\n\tldr.w %[w1], [%[w], #4]\n\t" \
  "smlad %[s4], %[w0], %[x1], %[s4]\n\tldr.w %[w0], [%[w], #8]\n\t" \
  "smlad %[s1], %[w1], %[x0], %[s1]\n\t" \
  "smlad %[s5], %[w1], %[x1], %[s5]\n\tldr.w %[w1], [%[w], #12]\n\t" \
  "smlad %[s2], %[w0], %[x0], %[s2]\n\t" \
  "smlad %[s6], %[w0], %[x1], %[s6]\n\tldr.w %[w0], [%[w], #16]!\n\t" \
  "smlad %[s3], %[w1], %[x0], %[s3]\n\tldr.w %[x0], [%[x], #4]!\n\t" \
  "smlad %[s7], %[w1], %[x1], %[s7]\n\tldr.w %[x1], [%[x], %[distance]]\n\t"
#define DSP_WORDS [x0] "+r"(x0), [x1] "+r"(x1), [w0] "+r"(w0), [w1] "=&r"(w1)
#else
/* One pair of values. Loads stand together, because on Cortex-M4 the first of several takes a cycle more. */
#define DSP_FIRST_WORDS
#define DSP_WORDS [x0] "=&r"(x0), [x1] "=&r"(x1), [w0] "=&r"(w0), [w1] "=&r"(w1)
#define DSP_STEP \
  "ldr.w %[x1], [%[x], %[distance]]\n\t" \
  "ldr.w %[x0], [%[x]], #4\n\t" \
  "ldr.w %[w1], [%[w], #4]\n\t" \
  "ldr.w %[w0], [%[w]], #8\n\t" \
  "smlad %[s0], %[w0], %[x0], %[s0]\n\t" \
  "smlad %[s4], %[w0], %[x1], %[s4]\n\t" \
  "smlad %[s1], %[w1], %[x0], %[s1]\n\t" \
  "smlad %[s5], %[w1], %[x1], %[s5]\n\t" \
  "ldr.w %[w1], [%[w], #4]\n\t" \
  "ldr.w %[w0], [%[w]], #8\n\t" \
  "smlad %[s2], %[w0], %[x0], %[s2]\n\t" \
  "smlad %[s6], %[w0], %[x1], %[s6]\n\t" \
  "smlad %[s3], %[w1], %[x0], %[s3]\n\t" \
  "smlad %[s7], %[w1], %[x1], %[s7]\n\t"
#endif

#define DSP_EIGHT(step) step step step step step step step step
#define DSP_UNTIL_END "ldr %[w1], %[end]\n\tcmp %[x], %[w1]\n\tbne 1b"

#define DSP_OPERANDS \
  [s0] "+r"(s0), [s1] "+r"(s1), [s2] "+r"(s2), [s3] "+r"(s3), [s4] "+r"(s4), [s5] "+r"(s5), [s6] "+r"(s6), \
      [s7] "+r"(s7), [x] "+r"(x), [w] "+r"(w), DSP_WORDS

/* All pairs: whole eights, or sixteens, in a loop, whose end is kept in memory, because no register is left for it. */
#define DSP_RUN \
  do { \
    DSP_FIRST_WORDS \
    if (pairs >= 32 && pairs % 16 == 0) { \
      const uint8_t *end = (const uint8_t *)x + pairs * 4; \
      __asm__ volatile(DSP_WORD_ALIGNED "1:\n\t" DSP_EIGHT(DSP_STEP) DSP_EIGHT(DSP_STEP) DSP_UNTIL_END \
                       : DSP_OPERANDS \
                       : [end] "m"(end), [distance] "i"(distance) \
                       : "cc", "memory"); \
    } else if (pairs == 16) { \
      __asm__ volatile(DSP_WORD_ALIGNED DSP_EIGHT(DSP_STEP) DSP_EIGHT(DSP_STEP) \
                       : DSP_OPERANDS \
                       : [distance] "i"(distance) \
                       : "memory"); \
    } else if (pairs > 16) { \
      const uint8_t *end = (const uint8_t *)x + pairs / 8 * 32; \
      __asm__ volatile(DSP_WORD_ALIGNED "1:\n\t" DSP_EIGHT(DSP_STEP) DSP_UNTIL_END \
                       : DSP_OPERANDS \
                       : [end] "m"(end), [distance] "i"(distance) \
                       : "cc", "memory"); \
    } else if (pairs >= 8) { \
      __asm__ volatile(DSP_WORD_ALIGNED DSP_EIGHT(DSP_STEP) : DSP_OPERANDS : [distance] "i"(distance) : "memory"); \
    } \
    _Pragma("GCC unroll 8") for (int32_t pair = 0; pair < pairs % 8; pair++) { \
      __asm__ volatile(DSP_WORD_ALIGNED DSP_STEP : DSP_OPERANDS : [distance] "i"(distance) : "memory"); \
    } \
  } while (0)

#endif

/* `distance` and `pairs` must be constants. Returns where the weights end. */
DSP_INLINE const void *dsp_dot_two(int32_t *sums, const void *x, int32_t distance, const void *w, int32_t pairs) {
#if DSP_HAS_INSTRUCTIONS
  int32_t s0 = sums[0], s1 = sums[1], s2 = sums[2], s3 = sums[3];
  int32_t s4 = sums[4], s5 = sums[5], s6 = sums[6], s7 = sums[7];
  uint32_t x0, x1, w0, w1;
  DSP_RUN;
  sums[0] = s0, sums[1] = s1, sums[2] = s2, sums[3] = s3;
  sums[4] = s4, sums[5] = s5, sums[6] = s6, sums[7] = s7;
  return w;
#else
  return dsp_twin_dot_two(sums, x, distance, w, pairs);
#endif
}

#endif
