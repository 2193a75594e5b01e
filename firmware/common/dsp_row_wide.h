/* Kernel rows of any number of weights over four neighbouring outputs of one channel plane, whose values are 16 bits.
 *
 * For each row `w` holds words of the weights (w0, w1), (w2, w3), ..., where their number is odd the last two once more
 * as the last word. Outputs that begin on a word multiply words by words; at stride 1 every other one multiplies the
 * halves apart. Every step of two weights loads one word of values and keeps the others.
 */
#ifndef DSP_ROW_WIDE_H
#define DSP_ROW_WIDE_H

#include "dsp.h"

static inline void dsp_twin_wide_rows_four(int32_t *sums, int32_t start, const int16_t *x, int32_t stride,
                                           const uint32_t *w, int32_t rows, int32_t pitch, int32_t width) {
  const int32_t words = (width + 1) / 2;
  for (int32_t i = 0; i < 4; i++) {
    sums[i] = start;
    for (int32_t row = 0; row < rows; row++) {
      for (int32_t column = 0; column < width; column++) {
        const int32_t is_last = column == width - 1;
        const uint32_t pair = w[row * words + (is_last ? words - 1 : column / 2)];
        const int32_t weight = dsp_twin_half(pair, is_last || column % 2);
        sums[i] = dsp_twin_add(sums[i], x[row * pitch + i * stride + column] * weight);
      }
    }
  }
}

#if DSP_HAS_INSTRUCTIONS

/* Two words. Compilers would pull the loads apart, and the first of several takes a cycle more. */
#define DSP_LOAD_TWO(first, second, at_first, at_second) \
  __asm__ volatile(DSP_WORD_ALIGNED "ldr.w %0, %2\n\tldr.w %1, %3" \
                   : "=&r"(first), "=r"(second) \
                   : "m"(*(const dsp_any_word *)(at_first)), "m"(*(const dsp_any_word *)(at_second)))
typedef uint32_t __attribute__((may_alias, aligned(2))) dsp_any_word;

/* One row. `width` must be a constant. */
DSP_INLINE void dsp_wide_row_four(int32_t *s, const int16_t *x, const uint32_t *w, int32_t width) {
  uint32_t x0, x1, x2, wa, wb;
  DSP_LOAD_TWO(x0, x1, x, x + 2);
#pragma GCC unroll 8
  for (int32_t pairs = width % 2 ? (width - 3) / 2 : width / 2; pairs > 0; pairs--) {
    DSP_LOAD_TWO(x2, wa, x + 4, w);
    s[0] = dsp_dual(x0, wa, s[0]);
    s[1] = dsp_low_high(x1, wa, dsp_high_low(x0, wa, s[1]));
    s[2] = dsp_dual(x1, wa, s[2]);
    s[3] = dsp_low_high(x2, wa, dsp_high_low(x1, wa, s[3]));
    x0 = x1, x1 = x2;
    x += 2, w++;
  }
  if (width % 2) { /* three more */
    x2 = dsp_load(x + 4);
    DSP_LOAD_TWO(wa, wb, w, w + 1);
    s[0] = dsp_low_high(x1, wb, dsp_dual(x0, wa, s[0]));
    s[1] = dsp_dual(x1, wb, dsp_high_low(x0, wa, s[1]));
    s[2] = dsp_low_high(x2, wb, dsp_dual(x1, wa, s[2]));
    s[3] = dsp_dual(x2, wb, dsp_high_low(x1, wa, s[3]));
  }
}

/* The same at stride 2. */
DSP_INLINE void dsp_wide_strided_row_four(int32_t *s, const int16_t *x, const uint32_t *w, int32_t width) {
  uint32_t x0, x1, x2 = dsp_load(x + 4), x3, wa;
  DSP_LOAD_TWO(x0, x1, x, x + 2);
#pragma GCC unroll 8
  for (int32_t pairs = width / 2; pairs > 0; pairs--) {
    DSP_LOAD_TWO(x3, wa, x + 6, w);
    s[0] = dsp_dual(x0, wa, s[0]);
    s[1] = dsp_dual(x1, wa, s[1]);
    s[2] = dsp_dual(x2, wa, s[2]);
    s[3] = dsp_dual(x3, wa, s[3]);
    x0 = x1, x1 = x2, x2 = x3;
    x += 2, w++;
  }
  if (width % 2) { /* one more */
    DSP_LOAD_TWO(x3, wa, x + 6, w);
    s[0] = dsp_low_high(x0, wa, s[0]);
    s[1] = dsp_low_high(x1, wa, s[1]);
    s[2] = dsp_low_high(x2, wa, s[2]);
    s[3] = dsp_low_high(x3, wa, s[3]);
  }
}

#endif

/* Sums that begin at `start` over `rows` kernel rows, whose values are `pitch` apart. `stride`, 1 or 2, and `width`
 * must be constants.
 */
DSP_INLINE void dsp_wide_rows_four(int32_t *sums, int32_t start, const int16_t *x, int32_t stride, const uint32_t *w,
                                   int32_t rows, int32_t pitch, int32_t width) {
#if DSP_HAS_INSTRUCTIONS
  sums[0] = sums[1] = sums[2] = sums[3] = start;
#pragma GCC unroll 1
  for (; rows > 0; rows--) {
    if (stride == 1) {
      dsp_wide_row_four(sums, x, w, width);
    } else {
      dsp_wide_strided_row_four(sums, x, w, width);
    }
    x += pitch;
    w += (width + 1) / 2;
  }
#else
  dsp_twin_wide_rows_four(sums, start, x, stride, w, rows, pitch, width);
#endif
}

#endif
