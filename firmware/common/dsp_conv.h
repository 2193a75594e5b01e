/* Convolutions and fully connected layers on cores with the DSP extension, from a description of the layer.
 *
 * Strips of neighbouring pixels are widened to 16 bits; then blocks of four output channels run over two pixels at a
 * time. All layers share this code. Only the inner loop for two pixels has to know by how many bytes they are apart,
 * since no register is left for it: DSP_CONV_TWO() of dsp_conv_pixels.h makes it for a distance.
 */
#ifndef DSP_CONV_H
#define DSP_CONV_H

#include "dsp.h"

enum {
  DSP_CONV_HIGH = 1, /* products by their upper halves, see kernels/high_products.py; else with shifts around them */
  DSP_CONV_GROUPED = 2, /* every four values lie in the order 0 2 1 3 */
  DSP_CONV_APART = 4, /* pixels share no values: two of them lie word by word beside each other in the strip */
};

/* Which clamp; but for the first one after products by upper halves. Packed weights go with bytes that are proved to fit
 * halves before, wide ones with halves.
 */
enum {
  DSP_CONV_ANY = 0,
  DSP_CONV_POSITIVE = 1, /* bytes up to any limit, halves up to 32767 */
  DSP_CONV_WHOLE = 2, /* from the smallest value to the largest */
  DSP_CONV_LIMITED = 3, /* halves alone: any limits */
};

/* What the functions of dsp_conv_pixels.h read; their comments say how outputs are made. */
typedef struct {
  const int32_t *end; /* of the weights */
  int32_t y_step; /* bytes from a pixel of the output to the next */
  int32_t offset;
  uint32_t high; /* the largest output in both halves; of packed positive bytes 255 minus the largest, in four bytes */
  int32_t tail;
  int32_t entry; /* where the unrolled loop begins, so that its last step is the last pair: bytes, and one for Thumb */
  int32_t span; /* bytes of values under a kernel row, of one pixel or of two that lie word by word beside each other */
  int32_t rows_bytes; /* from the first kernel row to the last */
  uint32_t mask; /* of the bits of wide sums that count, where they are multiplied by upper halves */
  int32_t row_bytes; /* from a kernel row to the next */
  int32_t gap_bytes; /* from the end of a kernel row to the next */
  int32_t x_step, y_gap; /* from two pixels to the next two; from the end of their outputs in the first one's */
  uint32_t low; /* the smallest output, in both halves */
  int32_t is_high, y_bytes;
  int32_t pre_shift, post_shift;
  int32_t pairs; /* of values under a kernel row */
  void (*any)(void); /* what is called for outputs that no other tail makes */
} dsp_conv_run;

/* Computes the blocks of weights from `w` to run->end for `count` pixels, or `count` times two. */
typedef void dsp_conv_pixels(const int16_t *x, const int32_t *w, void *y, const dsp_conv_run *run, int32_t count);

typedef struct {
  const int32_t *weights; /* blocks of four channels: biases, weights, factors */
  dsp_conv_pixels *two, *one;
  void (*any_of_two)(void), (*any_of_one)(void);
  int32_t out_channels, block_words;
  int32_t in_height, in_row; /* rows of the input, elements of one */
  int32_t out_height, out_width;
  int32_t pad_left; /* elements */
  int32_t offset;
  int16_t pad_top;
  int16_t row_stride, row_dilation, kernel_rows;
  int16_t row_elements; /* under a kernel row */
  int16_t strip; /* pixels */
  int16_t row_length; /* elements of a row of the strip */
  int16_t step; /* elements from a pixel to the next */
  int16_t distance; /* the same as they lie in the strip */
  int16_t x_zero, low, high;
  uint8_t pre_shift, post_shift, flags, tail, x_bytes, y_bytes;
} dsp_conv;

/* Computes a layer. All that is read of the input for a strip is widened before outputs are written. */
void dsp_conv_layer(const dsp_conv *layer, const void *input, void *output, void *scratch);

/* For one pixel, and for two that lie word by word beside each other. */
dsp_conv_pixels dsp_conv_packed_one, dsp_conv_wide_one, dsp_conv_packed_apart, dsp_conv_wide_apart;

void dsp_conv_packed_any_of_one(void);
void dsp_conv_packed_any_of_two(void);
void dsp_conv_wide_any_of_one(void);
void dsp_conv_wide_any_of_two(void);

#endif
