/* Six products in two 64-bit multiplications (SMLAL): see kernels/dsp/long_mac.py.
 *
 * A word of values holds those of two pixels p and q, p + q * 2^21; one of weights those of two output channels. So
 * sums of products of such words have three fields: that of pixel p and the first channel, at bit 21 that of p and the
 * second channel plus that of q and the first, and at bit 42 that of q and the second channel. Of three channels m, n
 * and r the words are m + n * 2^21 and r + m * 2^21, which give all six sums of two pixels. All fields start with
 * DSP_LONG_HALF, so that none is negative, and must stay within 21 bits.
 */
#ifndef DSP_LONG_H
#define DSP_LONG_H

#include "dsp.h"

enum {
  DSP_LONG_BITS = 21, /* of a field */
  DSP_LONG_HALF = 1 << (DSP_LONG_BITS - 1),
  DSP_LONG_START_LOW = DSP_LONG_HALF,
  DSP_LONG_START_HIGH = 1 << (2 * DSP_LONG_BITS - 1 - 32) | 1 << (3 * DSP_LONG_BITS - 1 - 32),
};

/* The sums of two words of weights with the values of two pixels, as low and high halves. */
typedef struct {
  uint32_t low[2];
  int32_t high[2];
} dsp_long_sums;

/* Two words of values times two of weights, `count` times: of pixels p and q, and of the next two. */
static inline const int32_t *dsp_twin_long_dot(dsp_long_sums *sums, const uint32_t *x, const int32_t *w,
                                               int32_t count) {
  for (int32_t pixels = 0; pixels < 2; pixels++) {
    for (int32_t word = 0; word < 2; word++) {
      uint64_t sum = (uint64_t)DSP_LONG_START_HIGH << 32 | DSP_LONG_START_LOW;
      for (int32_t i = 0; i < count; i++) {
        sum += (uint64_t)((int64_t)(int32_t)x[2 * i + pixels] * w[2 * i + word]);
      }
      sums[pixels].low[word] = (uint32_t)sum;
      sums[pixels].high[word] = (int32_t)(sum >> 32);
    }
  }
  return w + 2 * count;
}

#if DSP_HAS_INSTRUCTIONS

#define DSP_LONG_MAC(x, w) "smlal %[l" x w "], %[h" x w "], %[x" x "], %[w" w "]\n\t"

/* Two words of each for two values. Registers for four words are left, beside eight of sums. */
#ifdef DSP_DUAL_ISSUE
/* Every cycle has a product and the load of a word that is used two cycles later: as soon as a register is free. */
#define DSP_LONG_FIRST \
  "ldr.w %[x0], [%[x]]\n\t" \
  "ldr.w %[w0], [%[w]]\n\t" \
  "ldr.w %[x1], [%[x], #4]\n\t"
#define DSP_LONG_STEP \
  DSP_LONG_MAC("0", "0") "ldr.w %[w1], [%[w], #4]\n\t" \
  DSP_LONG_MAC("1", "0") "ldr.w %[w0], [%[w], #8]\n\t" \
  DSP_LONG_MAC("1", "1") "ldr.w %[x1], [%[x], #12]\n\t" \
  DSP_LONG_MAC("0", "1") "ldr.w %[x0], [%[x], #8]\n\t" \
  DSP_LONG_MAC("1", "0") "ldr.w %[w1], [%[w], #12]\n\t" \
  DSP_LONG_MAC("0", "0") "ldr.w %[w0], [%[w], #16]!\n\t" \
  DSP_LONG_MAC("0", "1") "ldr.w %[x0], [%[x], #16]!\n\t" \
  DSP_LONG_MAC("1", "1") "ldr.w %[x1], [%[x], #4]\n\t"
#else
#define DSP_LONG_FIRST ""
#define DSP_LONG_ONE \
  "ldr.w %[x1], [%[x], #4]\n\t" \
  "ldr.w %[x0], [%[x]], #8\n\t" \
  "ldr.w %[w1], [%[w], #4]\n\t" \
  "ldr.w %[w0], [%[w]], #8\n\t" \
  DSP_LONG_MAC("0", "0") DSP_LONG_MAC("0", "1") DSP_LONG_MAC("1", "0") DSP_LONG_MAC("1", "1")
#define DSP_LONG_STEP DSP_LONG_ONE DSP_LONG_ONE
#endif

#define DSP_LONG_BEGIN \
  uint32_t l00 = DSP_LONG_START_LOW, l01 = l00, l10 = l00, l11 = l00; \
  int32_t h00 = DSP_LONG_START_HIGH, h01 = h00, h10 = h00, h11 = h00; \
  uint32_t x0, x1, w0, w1;
#define DSP_LONG_OPERANDS \
  [l00] "+r"(l00), [l01] "+r"(l01), [l10] "+r"(l10), [l11] "+r"(l11), [h00] "+r"(h00), [h01] "+r"(h01), \
      [h10] "+r"(h10), [h11] "+r"(h11), [x] "+r"(x), [w] "+r"(w), [x0] "=&r"(x0), [x1] "=&r"(x1), [w0] "=&r"(w0), \
      [w1] "=&r"(w1)
#define DSP_LONG_END \
  sums[0].low[0] = l00, sums[0].high[0] = h00, sums[0].low[1] = l01, sums[0].high[1] = h01; \
  sums[1].low[0] = l10, sums[1].high[0] = h10, sums[1].low[1] = l11, sums[1].high[1] = h11; \
  return w;

#define DSP_LONG_1 DSP_LONG_STEP
#define DSP_LONG_2 DSP_LONG_1 DSP_LONG_1
#define DSP_LONG_3 DSP_LONG_2 DSP_LONG_1
#define DSP_LONG_4 DSP_LONG_2 DSP_LONG_2
#define DSP_LONG_5 DSP_LONG_4 DSP_LONG_1
#define DSP_LONG_6 DSP_LONG_4 DSP_LONG_2
#define DSP_LONG_7 DSP_LONG_4 DSP_LONG_3
#define DSP_LONG_8 DSP_LONG_4 DSP_LONG_4
#define DSP_LONG_9 DSP_LONG_8 DSP_LONG_1
#define DSP_LONG_10 DSP_LONG_8 DSP_LONG_2
#define DSP_LONG_11 DSP_LONG_8 DSP_LONG_3
#define DSP_LONG_12 DSP_LONG_8 DSP_LONG_4
#define DSP_LONG_13 DSP_LONG_8 DSP_LONG_5
#define DSP_LONG_14 DSP_LONG_8 DSP_LONG_6
#define DSP_LONG_15 DSP_LONG_8 DSP_LONG_7
#define DSP_LONG_16 DSP_LONG_8 DSP_LONG_8
#define DSP_LONG_17 DSP_LONG_16 DSP_LONG_1
#define DSP_LONG_18 DSP_LONG_16 DSP_LONG_2
#define DSP_LONG_19 DSP_LONG_16 DSP_LONG_3
#define DSP_LONG_20 DSP_LONG_16 DSP_LONG_4
#define DSP_LONG_21 DSP_LONG_16 DSP_LONG_5
#define DSP_LONG_22 DSP_LONG_16 DSP_LONG_6
#define DSP_LONG_23 DSP_LONG_16 DSP_LONG_7
#define DSP_LONG_24 DSP_LONG_16 DSP_LONG_8
#define DSP_LONG_25 DSP_LONG_16 DSP_LONG_9
#define DSP_LONG_26 DSP_LONG_16 DSP_LONG_10
#define DSP_LONG_27 DSP_LONG_16 DSP_LONG_11
#define DSP_LONG_28 DSP_LONG_16 DSP_LONG_12
#define DSP_LONG_29 DSP_LONG_16 DSP_LONG_13
#define DSP_LONG_30 DSP_LONG_16 DSP_LONG_14
#define DSP_LONG_31 DSP_LONG_16 DSP_LONG_15
#define DSP_LONG_32 DSP_LONG_16 DSP_LONG_16

#ifdef DSP_DUAL_ISSUE
#define DSP_LONG_UNROLLED(steps, dual_steps) dual_steps
#else
#define DSP_LONG_UNROLLED(steps, dual_steps) steps
#endif
#define DSP_LONG_STEPS(count) DSP_LONG_##count
#define DSP_LONG_REPEATED(count) DSP_LONG_STEPS(count)

/* Defines `name`, the same as dsp_twin_long_dot() for a constant `count`, with so many steps, of two values each, in an
 * iteration of the loop. Its end is kept in memory, because no register is left for it.
 */
#define DSP_LONG_DOT(name, count, steps, dual_steps) \
  DSP_INLINE const int32_t *name(dsp_long_sums *sums, const uint32_t *x, const int32_t *w) { \
    const uint32_t *end = x + 2 * (count); \
    DSP_LONG_BEGIN \
    if ((count) == 2 * DSP_LONG_UNROLLED(steps, dual_steps)) { \
      __asm__ volatile(DSP_WORD_ALIGNED DSP_LONG_FIRST DSP_LONG_REPEATED(DSP_LONG_UNROLLED(steps, dual_steps)) \
                       : DSP_LONG_OPERANDS \
                       : \
                       : "memory"); \
    } else { \
      __asm__ volatile(DSP_WORD_ALIGNED DSP_LONG_FIRST "1:\n\t" \
                       DSP_LONG_REPEATED(DSP_LONG_UNROLLED(steps, dual_steps)) \
                       "ldr %[w1], %[end]\n\tcmp %[x], %[w1]\n\tbne.w 1b" \
                       : DSP_LONG_OPERANDS \
                       : [end] "m"(end) \
                       : "cc", "memory"); \
    } \
    DSP_LONG_END \
  }

#else

#define DSP_LONG_DOT(name, count, steps, dual_steps) \
  DSP_INLINE const int32_t *name(dsp_long_sums *sums, const uint32_t *x, const int32_t *w) { \
    return dsp_twin_long_dot(sums, x, w, count); \
  }

#endif

/* The field in the middle. */
DSP_INLINE int32_t dsp_long_middle(uint32_t low, int32_t high) {
#if DSP_HAS_INSTRUCTIONS
  uint32_t result;
  __asm__("lsr %0, %1, #21\n\tbfi %0, %2, #11, #10" : "=&r"(result) : "r"(low), "r"(high));
  return (int32_t)result;
#else
  return (int32_t)((low >> DSP_LONG_BITS | (uint32_t)high << (32 - DSP_LONG_BITS)) & ((1u << DSP_LONG_BITS) - 1));
#endif
}

/* The sum of pixel p (0) or q (1) and channel m (0), n (1) or r (2), DSP_LONG_HALF too large. */
DSP_INLINE int32_t dsp_long_sum(const dsp_long_sums *sums, int32_t pixel, int32_t channel) {
  const uint32_t mask = (1u << DSP_LONG_BITS) - 1;
  const int32_t p_m = (int32_t)(sums->low[0] & mask), q_m = sums->high[1] >> (2 * DSP_LONG_BITS - 32);
  if (pixel == 0) {
    return channel == 0   ? p_m
           : channel == 1 ? dsp_long_middle(sums->low[0], sums->high[0]) - q_m + DSP_LONG_HALF
                          : (int32_t)(sums->low[1] & mask);
  }
  return channel == 0   ? q_m
         : channel == 1 ? sums->high[0] >> (2 * DSP_LONG_BITS - 32)
                        : dsp_long_middle(sums->low[1], sums->high[1]) - p_m + DSP_LONG_HALF;
}

/* A sum that is too large and a bias that is as much too small. */
DSP_INLINE int32_t dsp_long_biased(int32_t sum, int32_t bias) {
  return (int32_t)((uint32_t)sum + (uint32_t)bias);
}

static inline const int32_t *dsp_twin_long_store(const dsp_long_sums *sums, const int32_t *w, int8_t **y,
                                                 int32_t channels, int32_t zero_point, int32_t low) {
  for (int32_t channel = 0; channel < 3; channel++) {
    *y += w[0];
    for (int32_t pixel = 0; pixel < 4; pixel++) {
      const int32_t sum = dsp_long_biased(dsp_long_sum(&sums[pixel / 2], pixel % 2, channel), w[1]);
      const int32_t value = dsp_twin_multiply_high(sum, w[2], zero_point);
      (*y)[pixel * channels] = (int8_t)dsp_twin_saturate(value, 0, low, INT8_MAX);
    }
    w += 3;
  }
  return w;
}

#if DSP_HAS_INSTRUCTIONS

#define DSP_LONG_CHANNEL \
  "ldr.w %[factor], [%[w], #8]\n\tldr.w %[bias], [%[w], #4]\n\tldr.w %[a], [%[w]], #12\n\tadd.w %[y], %[a]\n\t"
#define DSP_LONG_FULL_BIAS "add.w %[bias], %[bias], #0x100000\n\t"
#define DSP_LONG_LOW(sum, x, w) "ubfx %[" sum "], %[l" x w "], #0, #21\n\tadd.w %[" sum "], %[bias]\n\t"
#define DSP_LONG_HIGH(sum, x, w) "add.w %[" sum "], %[bias], %[h" x w "], asr #10\n\t"
#define DSP_LONG_MIDDLE(sum, x, w) \
  "lsr.w %[" sum "], %[l" x w "], #21\n\tbfi %[" sum "], %[h" x w "], #11, #10\n\tadd.w %[" sum "], %[bias]\n\t"
#define DSP_LONG_P_M(sum, x) DSP_LONG_LOW(sum, x, "0")
#define DSP_LONG_P_R(sum, x) DSP_LONG_LOW(sum, x, "1")
#define DSP_LONG_Q_M(sum, x) DSP_LONG_HIGH(sum, x, "1")
#define DSP_LONG_Q_N(sum, x) DSP_LONG_HIGH(sum, x, "0")
#define DSP_LONG_P_N(sum, x) DSP_LONG_MIDDLE(sum, x, "0") "sub.w %[" sum "], %[" sum "], %[h" x "1], asr #10\n\t"
#define DSP_LONG_Q_R(sum, x) \
  DSP_LONG_MIDDLE(sum, x, "1") "ubfx %[l" x "0], %[l" x "0], #0, #21\n\tsub.w %[" sum "], %[l" x "0]\n\t"
/* The outputs of a channel for two pixels, the second of which is two after the first. */
#define DSP_LONG_TWO(sum, clamp, pixel) \
  sum("a", "0") sum("b", "1") \
  "smmulr %[a], %[a], %[factor]\n\tsmmulr %[b], %[b], %[factor]\n\t" \
  clamp("a") clamp("b") \
  "strb.w %[a], [%[y], %[channels] * " #pixel "]\n\tstrb.w %[b], [%[y], %[channels] * (" #pixel " + 2)]\n\t"
#define DSP_LONG_POSITIVE(value) "usat %[" value "], #7, %[" value "]\n\t"
#define DSP_LONG_WHOLE(value) "ssat %[" value "], #8, %[" value "]\n\t"
#define DSP_LONG_SHIFTED(value) "add.w %[" value "], %[zero_point]\n\t" DSP_LONG_WHOLE(value)
#define DSP_LONG_RUN_STORE(clamp) \
  __asm__ volatile(DSP_WORD_ALIGNED \
                   DSP_LONG_CHANNEL DSP_LONG_TWO(DSP_LONG_P_M, clamp, 0) DSP_LONG_TWO(DSP_LONG_Q_M, clamp, 1) \
                   DSP_LONG_CHANNEL DSP_LONG_TWO(DSP_LONG_Q_N, clamp, 1) \
                   DSP_LONG_FULL_BIAS DSP_LONG_TWO(DSP_LONG_P_N, clamp, 0) \
                   DSP_LONG_CHANNEL DSP_LONG_TWO(DSP_LONG_P_R, clamp, 0) \
                   DSP_LONG_FULL_BIAS DSP_LONG_TWO(DSP_LONG_Q_R, clamp, 1) \
                   : [w] "+r"(w), [y] "+r"(place), [l00] "+r"(l00), [l10] "+r"(l10), [a] "=&r"(a), [b] "=&r"(b), \
                     [bias] "=&r"(bias), [factor] "=&r"(factor) \
                   : [l01] "r"(sums[0].low[1]), [l11] "r"(sums[1].low[1]), [h00] "r"(sums[0].high[0]), \
                     [h01] "r"(sums[0].high[1]), [h10] "r"(sums[1].high[0]), [h11] "r"(sums[1].high[1]), \
                     [channels] "i"(channels), [zero_point] "i"(zero_point) \
                   : "memory")

#endif

/* Stores the bytes of three channels of four pixels, which are `channels` bytes apart: from `low` to 127, of which 0 is
 * possible without a zero point, and -128. For each channel `w` has the distance of its place from that of the one
 * before, a bias that is DSP_LONG_HALF too small, and a factor. Returns where they end.
 */
DSP_INLINE const int32_t *dsp_long_store(const dsp_long_sums *sums, const int32_t *w, int8_t **y, int32_t channels,
                                         int32_t zero_point, int32_t low) {
#if DSP_HAS_INSTRUCTIONS
  uint32_t l00 = sums[0].low[0], l10 = sums[1].low[0];
  int32_t a, b, bias, factor;
  int8_t *place = *y;
  if (low == 0) {
    DSP_LONG_RUN_STORE(DSP_LONG_POSITIVE);
  } else if (zero_point == 0) {
    DSP_LONG_RUN_STORE(DSP_LONG_WHOLE);
  } else {
    DSP_LONG_RUN_STORE(DSP_LONG_SHIFTED);
  }
  *y = place;
  return w;
#else
  return dsp_twin_long_store(sums, w, y, channels, zero_point, low);
#endif
}

/* A word of values of two pixels, from byte `i` of both. */
DSP_INLINE uint32_t dsp_long_word(uint32_t p, uint32_t q, int32_t i) {
  return (uint32_t)dsp_twin_byte(p, i) + ((uint32_t)dsp_twin_byte(q, i) << DSP_LONG_BITS);
}

/* Packs `count` bytes, a multiple of four, of two pixels into every second word. */
DSP_INLINE void dsp_long_pack(const int8_t *p, const int8_t *q, uint32_t *words, int32_t count) {
#pragma GCC unroll 2
  for (; count > 0; count -= 4) {
    const uint32_t first = dsp_load(p), second = dsp_load(q);
    const uint32_t a = dsp_long_word(first, second, 0), b = dsp_long_word(first, second, 1);
    const uint32_t c = dsp_long_word(first, second, 2), d = dsp_long_word(first, second, 3);
    words[0] = a;
    words[2] = b;
    words[4] = c;
    words[6] = d;
    p += 4;
    q += 4;
    words += 8;
  }
}

#endif
