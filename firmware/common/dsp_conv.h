/* Convolutions and fully connected layers on cores with the DSP extension, from a description of the layer.
 *
 * Strips of neighbouring pixels are widened to 16 bits (im2col, but without copies of values that windows share); then
 * blocks of four output channels are computed for two pixels at a time. All layers share this code. Only the inner loop
 * for two pixels needs the distance between them as a constant, as no register is left for it:
 * DSP_CONV_TWO_PIXELS() of dsp_conv_pixels.h defines it for a distance.
 */
#ifndef DSP_CONV_H
#define DSP_CONV_H

#include "dsp.h"

enum {
  DSP_CONV_HIGH = 1, /* requantization by upper halves of products: kernels/dsp/high_products.py; else by shifts */
  DSP_CONV_INTERLEAVED = 2, /* strips hold two pixels word by word in turn */
  DSP_CONV_TWICE = 4, /* requantization as in TensorFlow Lite, with a multiplier and a shift for each channel */
  DSP_CONV_ONCE = 8,
  DSP_CONV_SINGLE = 32, /* the same outputs, from a product with an offset for each channel: single_products.py */
  DSP_CONV_OF_BYTES = 16, /* weights are bytes that do not share words: dsp_conv_pixels.h */
};

/* Pairs of values in an iteration of the inner loops. Twelve, with the rest of a block, fit 1 KB of cache. */
#ifdef DSP_DUAL_ISSUE
enum { DSP_CONV_UNROLLED = 32 };
#else
enum { DSP_CONV_UNROLLED = 12 };
#endif

/* The clamp of outputs. All but DSP_CONV_ANY follow requantization by upper halves; with packed weights they take bytes
 * that are proved to fit 16 bits before, with wide weights 16-bit values.
 */
enum {
  DSP_CONV_ANY = 0,
  DSP_CONV_POSITIVE = 1, /* bytes up to any limit, halves up to 32767 */
  DSP_CONV_WHOLE = 2, /* from the smallest value of the type to the largest; bytes have functions of their own */
  DSP_CONV_LIMITED = 3, /* halves only: any limits */
};

/* What the functions of dsp_conv_pixels.h read. */
typedef struct {
  const int32_t *end; /* of the weights */
  int32_t y_step; /* bytes from a pixel of the output to the next */
  int32_t offset; /* of whole bytes 128 too large */
  uint32_t high; /* the largest output in both halves, or all bytes; of packed positive bytes 255 minus it, in all */
  int32_t tail;
  int32_t entry; /* where the unrolled loop begins, so that its last step is the last pair: bytes, and one for Thumb */
  int32_t span; /* bytes of values under a kernel row, of one pixel or of two interleaved ones */
  int32_t rows_bytes; /* from the first kernel row to the last */
  uint32_t mask; /* clears the bits of wide sums that the first shift would drop */
  int32_t row_bytes; /* from a kernel row to the next */
  int32_t gap_bytes; /* from the end of a kernel row to the next */
  int32_t x_step, y_gap; /* from two pixels to the next two; from the end of the first one's outputs to theirs */
  uint32_t low; /* the smallest output, in both halves, or in all bytes */
  int32_t is_high, y_bytes;
  int32_t pre_shift, post_shift;
  int32_t pairs; /* of values under a kernel row */
  void (*any)(void); /* makes the outputs where the tail is DSP_CONV_ANY */
  int32_t flags;
} dsp_conv_run;

/* Computes the blocks of weights from `w` to run->end for `count` pixels, or `count` times two. */
typedef void dsp_conv_pixels(const int16_t *x, const int32_t *w, void *y, const dsp_conv_run *run, int32_t count);

typedef struct dsp_conv dsp_conv;

/* Fills a strip for `count` pixels. Their windows begin at row `top` and element `first` of the input's rows, either of
 * which may lie before the input.
 */
typedef void dsp_conv_fill_strip(const dsp_conv *layer, const void *input, int32_t top, int32_t first, int32_t count,
                                 int16_t *strip);

/* Widens `count` values to 16 bits. */
typedef void dsp_conv_widen(const void *x, int16_t *strip, int32_t count);

struct dsp_conv {
  const int32_t *weights; /* blocks of four channels: biases, weights, factors, shifts as in TensorFlow Lite */
  dsp_conv_pixels *two, *one; /* the inner loops for two pixels and for one */
  dsp_conv_pixels *rows; /* for the last pixels of two rows, interleaved; NULL: each is computed alone */
  dsp_conv_fill_strip *fill_strip;
  dsp_conv_widen *widen;
  void (*any_of_two)(void), (*any_of_one)(void);
  int32_t out_channels, block_words;
  int32_t in_height, in_row; /* rows of the input, elements of one */
  int32_t out_height, out_width;
  int32_t y_step, y_row; /* elements from a pixel of the output to the next, from a row to the next */
  int32_t pad_left; /* elements that are widened */
  int32_t offset;
  int32_t column_step; /* elements from a kernel column to the next: dsp_conv_fill_dilated() */
  int32_t pixel_elements; /* of an input pixel, of which `inputs` are widened: dsp_conv_fill_some_channels() */
  int16_t pad_top;
  int16_t row_stride, row_dilation, kernel_rows;
  int16_t kernel_columns; /* that count as kernel rows: dsp_conv_fill_dilated() */
  int16_t inputs;
  int16_t row_elements; /* under a kernel row */
  int16_t strip; /* pixels */
  int16_t row_length; /* elements of a row of the strip */
  int16_t step; /* elements from a pixel to the next, of those that are widened; of all if they are interleaved */
  int16_t distance; /* the same as they lie in the strip */
  int16_t x_zero, low, high;
  uint8_t pre_shift, post_shift, flags, tail, x_bytes, y_bytes;
};

/* Computes a layer. The inputs of a strip are widened before its outputs are written. */
void dsp_conv_layer(const dsp_conv *layer, const void *input, void *output, void *scratch);

/* The layouts of strips; `StripLayout` of kernels/dsp/strips.py chooses. */
dsp_conv_fill_strip dsp_conv_fill_rows; /* kernel row by kernel row, of all pixels */
dsp_conv_fill_strip dsp_conv_fill_rows_twice; /* the same twice: odd pixels have a copy that begins on a word */
dsp_conv_fill_strip dsp_conv_fill_dilated; /* kernel column by kernel column of every kernel row */
dsp_conv_fill_strip dsp_conv_fill_some_channels; /* as rows, some channels of each pixel */
dsp_conv_fill_strip dsp_conv_fill_interleaved_grouped; /* two pixels word by word in turn, of grouped bytes */
dsp_conv_fill_strip dsp_conv_fill_interleaved_halves; /* the same of halves, a multiple of four */
dsp_conv_fill_strip dsp_conv_fill_interleaved; /* the same of any number of values */

/* The order of values in a strip. */
dsp_conv_widen dsp_conv_widen_bytes; /* that of the input */
dsp_conv_widen dsp_conv_widen_grouped; /* fours in the order 0 2 1 3, as SXTB16 widens the bytes of a word */
dsp_conv_widen dsp_conv_copy_halves; /* that of the input, of 16 bits */

/* For one pixel, and for two interleaved ones. */
dsp_conv_pixels dsp_conv_packed_one, dsp_conv_bytes_one, dsp_conv_wide_one;
dsp_conv_pixels dsp_conv_packed_interleaved, dsp_conv_bytes_interleaved, dsp_conv_wide_interleaved;
/* Bytes from 0 to 127 without a zero point, from -128 to 127, and the same as in TensorFlow Lite. */
dsp_conv_pixels dsp_conv_packed_one_relu, dsp_conv_packed_interleaved_relu;
dsp_conv_pixels dsp_conv_packed_one_whole, dsp_conv_packed_interleaved_whole;
dsp_conv_pixels dsp_conv_packed_one_twice, dsp_conv_packed_interleaved_twice;
dsp_conv_pixels dsp_conv_packed_one_once, dsp_conv_packed_interleaved_once;

void dsp_conv_packed_any_of_one(void);
void dsp_conv_packed_any_of_two(void);
void dsp_conv_wide_any_of_one(void);
void dsp_conv_wide_any_of_two(void);

/* The same as in TensorFlow Lite. */
void dsp_conv_packed_twice_of_one(void);
void dsp_conv_packed_twice_of_two(void);
void dsp_conv_packed_once_of_one(void);
void dsp_conv_packed_once_of_two(void);
void dsp_conv_wide_twice_of_one(void);
void dsp_conv_wide_twice_of_two(void);
void dsp_conv_wide_once_of_one(void);
void dsp_conv_wide_once_of_two(void);

#endif
