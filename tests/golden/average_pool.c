/* layer 3, average pool example
 *
 * 4x4x2 Q2.5 -> 2x2x2 Q2.5, 32 MACs
 * window 2x2, stride 2x2, dilation 1x1, padding 0/0/0/0
 * scheme: interleaved, kernel: direct
 */
#include "fixed_point.h"
#include "layers.h"

enum {
  IN_HEIGHT = 4,
  IN_WIDTH = 4,
  IN_CHANNELS = 2,
  OUT_HEIGHT = 2,
  OUT_WIDTH = 2,
  OUT_CHANNELS = 2,
  KERNEL_HEIGHT = 2,
  KERNEL_WIDTH = 2,
  STRIDE_HEIGHT = 2,
  STRIDE_WIDTH = 2,
  DILATION_HEIGHT = 1,
  DILATION_WIDTH = 1,
  PAD_TOP = 0,
  PAD_LEFT = 0,
  LOW = -128,
  HIGH = 127,
};

/* The output for the sum of `elements` values, of which the average divides by `count`. */
TINYSPLIT_INLINE int8_t average(int32_t sum, int32_t elements, int32_t count) {
  (void)elements;
  (void)count;
  /* A quotient by a product, exact for every sum of a whole window. */
  return (int8_t)fixed_point_requantize(sum, 0, 1, 2, 2, LOW, HIGH);
}

/* All channels of one pixel, for `rows` x `columns` kernel positions. */
TINYSPLIT_INLINE void compute_pixel(const int8_t *x, int32_t rows, int32_t columns, int8_t *output) {
  const int32_t elements = rows * columns;
  const int32_t count = elements;
  for (int32_t channel = 0; channel < OUT_CHANNELS; channel++) {
    int32_t sum = 0;
    for (int32_t row = 0; row < rows; row++) {
      const int8_t *x_row = x + row * DILATION_HEIGHT * IN_WIDTH * IN_CHANNELS + channel;
      for (int32_t column = 0; column < columns; column++) {
        sum += x_row[column * DILATION_WIDTH * IN_CHANNELS];
      }
    }
    output[channel] = average(sum, elements, count);
  }
}

void layer_3(const int8_t *input, int8_t *output) {
  for (int32_t out_row = 0; out_row < OUT_HEIGHT; out_row++) {
    for (int32_t out_column = 0; out_column < OUT_WIDTH; out_column++) {
      const int32_t first_pixel = out_row * STRIDE_HEIGHT * IN_WIDTH + out_column * STRIDE_WIDTH;
      const int8_t *x = input + first_pixel * IN_CHANNELS;
      compute_pixel(x, KERNEL_HEIGHT, KERNEL_WIDTH, output);
      output += OUT_CHANNELS;
    }
  }
}
