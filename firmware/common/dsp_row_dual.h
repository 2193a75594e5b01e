/* dsp_rows_four() of dsp_row.h for Cortex-M7, which issues two instructions a cycle.
 *
 * A kernel row of four outputs takes eight products, one a cycle. Loads issue beside them, two cycles before their
 * value is multiplied: every row loads the first values and weights of the next one as soon as a register is free.
 */
#ifndef DSP_ROW_DUAL_H
#define DSP_ROW_DUAL_H

#include "dsp.h"

#define DSP_ROW_STRIDE_1(a0, a1, a2, a3, next) \
  "smlad %[s0], %[x0], %[w0], %[" a0 "]\n\t" \
  "ldr %[w1], [%[w], %[w_row] + 4]\n\t" \
  "smlatb %[s1], %[x0], %[w0], %[" a1 "]\n\t" \
  next("ldr %[x0], [%[x], %[x_next]]\n\t") \
  "smlad %[s2], %[x1], %[w0], %[" a2 "]\n\t" \
  "smlatb %[s3], %[x1], %[w0], %[" a3 "]\n\t" \
  next("ldr %[w0], [%[w], %[w_row] + 8]\n\t") \
  "smlabt %[s0], %[x1], %[w1], %[s0]\n\t" \
  "smlad %[s1], %[x1], %[w1], %[s1]\n\t" \
  next("ldr %[x1], [%[x], %[x_next] + 4]\n\t") \
  "smlabt %[s2], %[x2], %[w1], %[s2]\n\t" \
  "smlad %[s3], %[x2], %[w1], %[s3]\n\t" \
  next("ldr %[x2], [%[x], %[x_next] + 8]\n\t")

#define DSP_ROW_STRIDE_2(a0, a1, a2, a3, next) \
  "smlad %[s0], %[x0], %[w0], %[" a0 "]\n\t" \
  "ldr %[x0], [%[x], %[x_row] + 12]\n\t" \
  "smlad %[s1], %[x1], %[w0], %[" a1 "]\n\t" \
  "ldr %[w1], [%[w], %[w_row] + 4]\n\t" \
  "smlad %[s2], %[x2], %[w0], %[" a2 "]\n\t" \
  "smlad %[s3], %[x0], %[w0], %[" a3 "]\n\t" \
  next("ldr %[w0], [%[w], %[w_row] + 8]\n\t") \
  "smlabt %[s0], %[x1], %[w1], %[s0]\n\t" \
  "ldr %[x1], [%[x], %[x_row] + 16]\n\t" \
  "smlabt %[s1], %[x2], %[w1], %[s1]\n\t" \
  next("ldr %[x2], [%[x], %[x_next] + 8]\n\t") \
  "smlabt %[s2], %[x0], %[w1], %[s2]\n\t" \
  next("ldr %[x0], [%[x], %[x_next]]\n\t") \
  "smlabt %[s3], %[x1], %[w1], %[s3]\n\t" \
  next("ldr %[x1], [%[x], %[x_next] + 4]\n\t")

#define DSP_ROW_LOADS(text) text
#define DSP_ROW_NO_LOADS(text) ""

#define DSP_ROW_RUN(row, text, sum) \
  __asm__ volatile(text \
                   : [s0] sum(s0), [s1] sum(s1), [s2] sum(s2), [s3] sum(s3), [x0] "+&r"(x0), [x1] "+&r"(x1), \
                     [x2] "+&r"(x2), [w0] "+&r"(w0), [w1] "=&r"(w1) \
                   : [x] "r"(x), [w] "r"(w), [start] "r"(*start), [x_row] "i"(2 * (row) * pitch), \
                     [x_next] "i"(2 * ((row) + 1) * pitch), [w_row] "i"(8 * (row)) \
                   : "memory")

#define DSP_ROW_FIRST(text) \
  do { \
    if (rows > 1) { \
      DSP_ROW_RUN(0, text("start", "start", "start", "start", DSP_ROW_LOADS), "=&r"); \
    } else { \
      DSP_ROW_RUN(0, text("start", "start", "start", "start", DSP_ROW_NO_LOADS), "=&r"); \
    } \
  } while (0)
#define DSP_ROW_OTHER(row, text) \
  do { \
    if ((row) + 1 < rows) { \
      DSP_ROW_RUN(row, text("s0", "s1", "s2", "s3", DSP_ROW_LOADS), "+&r"); \
    } else if ((row) < rows) { \
      DSP_ROW_RUN(row, text("s0", "s1", "s2", "s3", DSP_ROW_NO_LOADS), "+&r"); \
    } \
  } while (0)
#define DSP_ROW_ALL(text) \
  do { \
    DSP_ROW_FIRST(text); \
    DSP_ROW_OTHER(1, text); \
    DSP_ROW_OTHER(2, text); \
    DSP_ROW_OTHER(3, text); \
    DSP_ROW_OTHER(4, text); \
  } while (0)

DSP_INLINE void dsp_rows_four(int32_t *sums, const int32_t *start, const int16_t *x, int32_t stride, const uint32_t *w,
                              int32_t rows, int32_t pitch) {
  int32_t s0, s1, s2, s3;
  uint32_t x0, x1, x2, w0, w1;
  __asm__ volatile("ldr %[w0], [%[w]]\n\tldr %[x0], [%[x]]\n\tldr %[x1], [%[x], #4]\n\tldr %[x2], [%[x], #8]"
                   : [x0] "=&r"(x0), [x1] "=&r"(x1), [x2] "=&r"(x2), [w0] "=&r"(w0)
                   : [x] "r"(x), [w] "r"(w)
                   : "memory");
  if (stride == 1) {
    DSP_ROW_ALL(DSP_ROW_STRIDE_1);
  } else {
    DSP_ROW_ALL(DSP_ROW_STRIDE_2);
  }
  sums[0] = s0, sums[1] = s1, sums[2] = s2, sums[3] = s3;
}

#endif
