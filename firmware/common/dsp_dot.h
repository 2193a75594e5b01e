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
  for (int32_t i = 0; i < 8; i++) {
    sums[i] = 0;
  }
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
#define DSP_STEP_OF(product) \
  product("0", "%[w0]", "%[x0]") "ldr.w %[w1], [%[w], #4]\n\t" \
  product("4", "%[w0]", "%[x1]") "ldr.w %[w0], [%[w], #8]\n\t" \
  product("1", "%[w1]", "%[x0]") \
  product("5", "%[w1]", "%[x1]") "ldr.w %[w1], [%[w], #12]\n\t" \
  product("2", "%[w0]", "%[x0]") \
  product("6", "%[w0]", "%[x1]") "ldr.w %[w0], [%[w], #16]!\n\t" \
  product("3", "%[w1]", "%[x0]") "ldr.w %[x0], [%[x], #4]!\n\t" \
  product("7", "%[w1]", "%[x1]") "ldr.w %[x1], [%[x], %[distance]]\n\t"
#define DSP_WORDS [x0] "+r"(x0), [x1] "+r"(x1), [w0] "+r"(w0), [w1] "=&r"(w1)
#else
/* One pair of values. Loads stand together, because on Cortex-M4 the first of several takes a cycle more. */
#define DSP_FIRST_WORDS
#define DSP_WORDS [x0] "=&r"(x0), [x1] "=&r"(x1), [w0] "=&r"(w0), [w1] "=&r"(w1)
#define DSP_STEP_OF(product) \
  "ldr.w %[x1], [%[x], %[distance]]\n\t" \
  "ldr.w %[x0], [%[x]], #4\n\t" \
  "ldr.w %[w1], [%[w], #4]\n\t" \
  "ldr.w %[w0], [%[w]], #8\n\t" \
  product("0", "%[w0]", "%[x0]") \
  product("4", "%[w0]", "%[x1]") \
  product("1", "%[w1]", "%[x0]") \
  product("5", "%[w1]", "%[x1]") \
  "ldr.w %[w1], [%[w], #4]\n\t" \
  "ldr.w %[w0], [%[w]], #8\n\t" \
  product("2", "%[w0]", "%[x0]") \
  product("6", "%[w0]", "%[x1]") \
  product("3", "%[w1]", "%[x0]") \
  product("7", "%[w1]", "%[x1]")
#endif

#define DSP_ADD(sum, w, x) "smlad %[s" sum "], " w ", " x ", %[s" sum "]\n\t"
#define DSP_BEGIN(sum, w, x) "smuad %[s" sum "], " w ", " x "\n\t"
#define DSP_STEP DSP_STEP_OF(DSP_ADD)
#define DSP_FIRST_STEP DSP_STEP_OF(DSP_BEGIN)

#define DSP_EIGHT(step) step step step step step step step step
#define DSP_UNTIL_END "ldr %[w1], %[end]\n\tcmp %[x], %[w1]\n\tbne 1b"

#define DSP_OPERANDS(begin) \
  [s0] begin(s0), [s1] begin(s1), [s2] begin(s2), [s3] begin(s3), [s4] begin(s4), [s5] begin(s5), [s6] begin(s6), \
      [s7] begin(s7), [x] "+r"(x), [w] "+r"(w), DSP_WORDS
#define DSP_NEW "=&r"
#define DSP_OLD "+r"
#define DSP_STEPS(steps, begin) \
  __asm__ volatile(DSP_WORD_ALIGNED steps : DSP_OPERANDS(begin) : [distance] "i"(distance) : "memory")

/* The first pair, then whole eights, several in a loop, whose end is kept in memory, because no register is left for
 * it; then the rest.
 */
#define DSP_RUN \
  do { \
    const int32_t others = pairs - 1; \
    DSP_FIRST_WORDS \
    DSP_STEPS(DSP_FIRST_STEP, DSP_NEW); \
    if (others >= 16) { \
      const uint8_t *end = (const uint8_t *)x + others / 8 * 32; \
      __asm__ volatile(DSP_WORD_ALIGNED "1:\n\t" DSP_EIGHT(DSP_STEP) DSP_UNTIL_END \
                       : DSP_OPERANDS(DSP_OLD) \
                       : [end] "m"(end), [distance] "i"(distance) \
                       : "cc", "memory"); \
    } else if (others >= 8) { \
      DSP_STEPS(DSP_EIGHT(DSP_STEP), DSP_OLD); \
    } \
    _Pragma("GCC unroll 8") for (int32_t pair = 0; pair < others % 8; pair++) { \
      DSP_STEPS(DSP_STEP, DSP_OLD); \
    } \
  } while (0)

#endif

/* `distance` and `pairs`, which are at least one, must be constants. Returns where the weights end. */
DSP_INLINE const void *dsp_dot_two(int32_t *sums, const void *x, int32_t distance, const void *w, int32_t pairs) {
#if DSP_HAS_INSTRUCTIONS
  int32_t s0, s1, s2, s3, s4, s5, s6, s7;
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
