/* Kernel rows of three weights over four neighbouring outputs of one channel plane, whose values are 16 bits.
 *
 * For each row `w` holds words of the weights (w0, w1) and (w1, w2); with halves of these and of the values, every
 * output takes two instructions: x0 * w0 + x1 * w1 and x2 * w2 where it begins on a word, x0 * w0 and
 * x1 * w1 + x2 * w2 elsewhere.
 * In assembler, because the loads of a row cost least when they stand together, and compilers pull them apart.
 */
#ifndef DSP_ROW_H
#define DSP_ROW_H

#include "dsp.h"

static inline void dsp_twin_row_four(int32_t *sums, const int16_t *x, int32_t stride, const uint32_t *w) {
  for (int32_t i = 0; i < 4; i++) {
    const int16_t *own = x + i * stride;
    const int32_t two = dsp_twin_add(own[0] * dsp_twin_half(w[0], 0), own[1] * dsp_twin_half(w[0], 1));
    sums[i] = dsp_twin_add(dsp_twin_add(sums[i], two), own[2] * dsp_twin_half(w[1], 1));
  }
}

static inline void dsp_twin_rows_four(int32_t *sums, const int32_t *start, const int16_t *x, int32_t stride,
                                      const uint32_t *w, int32_t rows, int32_t pitch) {
  sums[0] = sums[1] = sums[2] = sums[3] = *start;
  for (int32_t row = 0; row < rows; row++) {
    dsp_twin_row_four(sums, x + row * pitch, stride, w + 2 * row);
  }
}

#if DSP_HAS_INSTRUCTIONS && defined(DSP_DUAL_ISSUE)
#include "dsp_row_dual.h"
#else
#if DSP_HAS_INSTRUCTIONS

/* `start` loads what the sums begin at into that of the fourth. */
#define DSP_ROW_LOADS(start) \
  DSP_WORD_ALIGNED \
  "ldr.w %[x0], [%[x], %[x_row]]\n\t" \
  "ldr.w %[x1], [%[x], %[x_row] + 4]\n\t" \
  "ldr.w %[x2], [%[x], %[x_row] + 8]\n\t" \
  "ldr.w %[w0], %[w]\n\t" \
  "ldr.w %[w1], %[w_next]\n\t" \
  start

#define DSP_ROW_STRIDE_1(start, a0, a1, a2, a3) \
  DSP_ROW_LOADS(start) \
  "smlad %[s0], %[x0], %[w0], %[" a0 "]\n\t" \
  "smlabt %[s0], %[x1], %[w1], %[s0]\n\t" \
  "smlatb %[s1], %[x0], %[w0], %[" a1 "]\n\t" \
  "smlad %[s1], %[x1], %[w1], %[s1]\n\t" \
  "smlad %[s2], %[x1], %[w0], %[" a2 "]\n\t" \
  "smlabt %[s2], %[x2], %[w1], %[s2]\n\t" \
  "smlatb %[s3], %[x1], %[w0], %[" a3 "]\n\t" \
  "smlad %[s3], %[x2], %[w1], %[s3]"

#define DSP_ROW_STRIDE_2(start, a0, a1, a2, a3) \
  DSP_ROW_LOADS(start) \
  "smlad %[s0], %[x0], %[w0], %[" a0 "]\n\t" \
  "smlabt %[s0], %[x1], %[w1], %[s0]\n\t" \
  "smlad %[s1], %[x1], %[w0], %[" a1 "]\n\t" \
  "smlabt %[s1], %[x2], %[w1], %[s1]\n\t" \
  "ldr.w %[x0], [%[x], %[x_row] + 12]\n\t" \
  "ldr.w %[x1], [%[x], %[x_row] + 16]\n\t" \
  "smlad %[s2], %[x2], %[w0], %[" a2 "]\n\t" \
  "smlabt %[s2], %[x0], %[w1], %[s2]\n\t" \
  "smlad %[s3], %[x0], %[w0], %[" a3 "]\n\t" \
  "smlabt %[s3], %[x1], %[w1], %[s3]"

#define DSP_ROW_TEMPORARIES \
  [x0] "=&r"(x0), [x1] "=&r"(x1), [x2] "=&r"(x2), [w0] "=&r"(w0), [w1] "=&r"(w1)

/* In memory, because no register is left, not even for the address where they lie on the stack. */
#define DSP_ROW_WEIGHTS(row) [w] "m"(w[2 * (row)]), [w_next] "m"(w[2 * (row) + 1])

#define DSP_FIRST_ROW(text) \
  __asm__ volatile(text("ldr.w %[s3], %[start]\n\t", "s3", "s3", "s3", "s3") \
                   : [s0] "=&r"(s0), [s1] "=&r"(s1), [s2] "=&r"(s2), [s3] "=&r"(s3), DSP_ROW_TEMPORARIES \
                   : [x] "r"(x), [start] "m"(*start), [x_row] "i"(0), DSP_ROW_WEIGHTS(0) \
                   : "memory")

#define DSP_NEXT_ROW(text) \
  __asm__ volatile(text("", "s0", "s1", "s2", "s3") \
                   : [s0] "+r"(s0), [s1] "+r"(s1), [s2] "+r"(s2), [s3] "+r"(s3), DSP_ROW_TEMPORARIES \
                   : [x] "r"(x), [x_row] "i"(2 * row * pitch), DSP_ROW_WEIGHTS(row) \
                   : "memory")

/* The first kernel row of sums that begin at `start`. */
DSP_INLINE void dsp_first_row_four(int32_t *sums, const int32_t *start, const int16_t *x, int32_t stride,
                                   const uint32_t *w) {
  int32_t s0, s1, s2, s3;
  uint32_t x0, x1, x2, w0, w1;
  if (stride == 1) {
    DSP_FIRST_ROW(DSP_ROW_STRIDE_1);
  } else {
    DSP_FIRST_ROW(DSP_ROW_STRIDE_2);
  }
  sums[0] = s0, sums[1] = s1, sums[2] = s2, sums[3] = s3;
}

/* Adds kernel row `row`. */
DSP_INLINE void dsp_row_four(int32_t *sums, const int16_t *x, int32_t stride, const uint32_t *w, int32_t row,
                             int32_t pitch) {
  int32_t s0 = sums[0], s1 = sums[1], s2 = sums[2], s3 = sums[3];
  uint32_t x0, x1, x2, w0, w1;
  if (stride == 1) {
    DSP_NEXT_ROW(DSP_ROW_STRIDE_1);
  } else {
    DSP_NEXT_ROW(DSP_ROW_STRIDE_2);
  }
  sums[0] = s0, sums[1] = s1, sums[2] = s2, sums[3] = s3;
}

#endif

/* Sums that begin at `start` over `rows` kernel rows, 1 to 5: their values are `pitch` apart, their weights two words.
 * All numbers must be constants, `stride` 1 or 2.
 */
DSP_INLINE void dsp_rows_four(int32_t *sums, const int32_t *start, const int16_t *x, int32_t stride, const uint32_t *w,
                              int32_t rows, int32_t pitch) {
#if DSP_HAS_INSTRUCTIONS
  dsp_first_row_four(sums, start, x, stride, w);
  /* No loop: with -Og it would not be unrolled. */
  if (rows > 1) {
    dsp_row_four(sums, x, stride, w, 1, pitch);
  }
  if (rows > 2) {
    dsp_row_four(sums, x, stride, w, 2, pitch);
  }
  if (rows > 3) {
    dsp_row_four(sums, x, stride, w, 3, pitch);
  }
  if (rows > 4) {
    dsp_row_four(sums, x, stride, w, 4, pitch);
  }
#else
  dsp_twin_rows_four(sums, start, x, stride, w, rows, pitch);
#endif
}

#endif

#if DSP_HAS_INSTRUCTIONS && !defined(DSP_DUAL_ISSUE)

#define DSP_ROW_ONE(row, load, sum) \
  __asm__ volatile(DSP_WORD_ALIGNED \
                   "ldr.w %[x0], [%[x], %[x_row]]\n\t" \
                   "ldrh.w %[x1], [%[x], %[x_row] + 4]\n\t" \
                   "ldr.w %[w0], %[w]\n\t" \
                   "ldr.w %[w1], %[w_next]\n\t" load \
                   "smlad %[s], %[x0], %[w0], %[s]\n\t" \
                   "smlabt %[s], %[x1], %[w1], %[s]" \
                   : [s] sum(s), [x0] "=&r"(x0), [x1] "=&r"(x1), [w0] "=&r"(w0), [w1] "=&r"(w1) \
                   : [x] "r"(x), [start] "m"(*start), [x_row] "i"(2 * (row) * pitch), DSP_ROW_WEIGHTS(row) \
                   : "memory")

#else

#define DSP_ROW_ONE(row, load, sum) \
  do { \
    s = dsp_dual(dsp_load(x + (row) * pitch), w[2 * (row)], (row) ? s : *start); \
    s = dsp_low_high(dsp_load_half(x + (row) * pitch + 2), w[2 * (row) + 1], s); \
  } while (0)

#endif

/* The first sum of dsp_rows_four() alone, at any stride. */
DSP_INLINE int32_t dsp_rows_one(const int32_t *start, const int16_t *x, const uint32_t *w, int32_t rows,
                                int32_t pitch) {
  int32_t s;
#if DSP_HAS_INSTRUCTIONS && !defined(DSP_DUAL_ISSUE)
  uint32_t x0, x1, w0, w1;
#endif
  DSP_ROW_ONE(0, "ldr.w %[s], %[start]\n\t", "=&r");
  if (rows > 1) {
    DSP_ROW_ONE(1, "", "+&r");
  }
  if (rows > 2) {
    DSP_ROW_ONE(2, "", "+&r");
  }
  if (rows > 3) {
    DSP_ROW_ONE(3, "", "+&r");
  }
  if (rows > 4) {
    DSP_ROW_ONE(4, "", "+&r");
  }
  return s;
}

#endif
