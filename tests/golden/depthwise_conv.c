/* layer 3, depthwise conv example
 *
 * 4x4x2 Q2.5 -> 2x2x2 Q2.5, 80 MACs
 * window 3x3, stride 2x2, dilation 1x1, padding 0/0/1/1
 * 8-bit weights, scales 0.00781 to 0.0083 per channel; requantization * 16 to 17 >> 11
 * ReLU fused: outputs from 0 to 127
 * scheme: interleaved, kernel: direct
 */
#include "window.h"
#include "fixed_point.h"
#include "layers.h"

enum {
  IN_HEIGHT = 4,
  IN_WIDTH = 4,
  IN_CHANNELS = 2,
  OUT_HEIGHT = 2,
  OUT_WIDTH = 2,
  OUT_CHANNELS = 2,
  KERNEL_HEIGHT = 3,
  KERNEL_WIDTH = 3,
  STRIDE_HEIGHT = 2,
  STRIDE_WIDTH = 2,
  DILATION_HEIGHT = 1,
  DILATION_WIDTH = 1,
  PAD_TOP = 0,
  PAD_LEFT = 0,
  LOW = 0,
  HIGH = 127,
};

static const int8_t layer_3_weights[18] TINYSPLIT_WEIGHTS(layer_3_weights) = {
  -120, -121, -107, -106,  -93,  -91,
   -79,  -77,  -65,  -62,  -52,  -48,
   -38,  -33,  -24,  -18,  -10,   -4,
};

static const int32_t layer_3_bias[2] TINYSPLIT_WEIGHTS(layer_3_bias) = {
  0, 0,
};

static const uint16_t layer_3_corrections[2] TINYSPLIT_WEIGHTS(layer_3_corrections) = {
  17, 16,
};

/* Requantizes the sum of an output channel and applies the fused activation. */
TINYSPLIT_INLINE int32_t requantize(int32_t sum, int32_t channel) {
  const int32_t factor = layer_3_corrections[channel];
  return fixed_point_requantize(sum, 0, factor, 1024, 11, LOW, HIGH);
}

/* All channels of one pixel whose window lies inside the input: constant loop counts let the compiler unroll. */
TINYSPLIT_INLINE void compute_pixel(const int8_t *x, int32_t first, int32_t rows, int32_t columns,
                                 int8_t *output) {
  const int8_t *w = layer_3_weights + first * IN_CHANNELS;
  for (int32_t channel = 0; channel < OUT_CHANNELS; channel++) {
    int32_t sum = layer_3_bias[channel];
#pragma GCC unroll 4
    for (int32_t row = 0; row < rows; row++) {
      const int8_t *x_row = x + row * DILATION_HEIGHT * IN_WIDTH * IN_CHANNELS + channel;
      const int8_t *w_row = w + row * KERNEL_WIDTH * IN_CHANNELS + channel;
#pragma GCC unroll 4
      for (int32_t column = 0; column < columns; column++) {
        sum += x_row[column * DILATION_WIDTH * IN_CHANNELS] * w_row[column * IN_CHANNELS];
      }
    }
    output[channel] = (int8_t)requantize(sum, channel);
  }
}

/* All channels of one pixel at the border, from the `rows` x `columns` kernel positions from `first` on. */
TINYSPLIT_INLINE void compute_border(const int8_t *x, int32_t first, int32_t rows, int32_t columns,
                                 int8_t *output) {
  const int8_t *w = layer_3_weights + first * IN_CHANNELS;
  for (int32_t channel = 0; channel < OUT_CHANNELS; channel++) {
    int32_t sum = layer_3_bias[channel];
    for (int32_t row = 0; row < rows; row++) {
      const int8_t *x_row = x + row * DILATION_HEIGHT * IN_WIDTH * IN_CHANNELS + channel;
      const int8_t *w_row = w + row * KERNEL_WIDTH * IN_CHANNELS + channel;
#pragma GCC unroll 4
      for (int32_t column = 0; column < columns; column++) {
        sum += x_row[column * DILATION_WIDTH * IN_CHANNELS] * w_row[column * IN_CHANNELS];
      }
    }
    output[channel] = (int8_t)requantize(sum, channel);
  }
}

void layer_3(const int8_t *input, int8_t *output) {
  for (int32_t out_row = 0; out_row < OUT_HEIGHT; out_row++) {
    const int32_t top = out_row * STRIDE_HEIGHT - PAD_TOP;
    const int32_t row = window_begin(top, DILATION_HEIGHT);
    const int32_t rows = window_end(top, DILATION_HEIGHT, KERNEL_HEIGHT, IN_HEIGHT) - row;
    for (int32_t out_column = 0; out_column < OUT_WIDTH; out_column++) {
      const int32_t left = out_column * STRIDE_WIDTH - PAD_LEFT;
      const int32_t column = window_begin(left, DILATION_WIDTH);
      const int32_t columns = window_end(left, DILATION_WIDTH, KERNEL_WIDTH, IN_WIDTH) - column;
      const int32_t first_pixel = (top + row * DILATION_HEIGHT) * IN_WIDTH + left + column * DILATION_WIDTH;
      const int8_t *x = input + first_pixel * IN_CHANNELS;
      if (rows == KERNEL_HEIGHT && columns == KERNEL_WIDTH) {
        compute_pixel(x, 0, KERNEL_HEIGHT, KERNEL_WIDTH, output);
      } else {
        compute_border(x, row * KERNEL_WIDTH + column, rows, columns, output);
      }
      output += OUT_CHANNELS;
    }
  }
}
