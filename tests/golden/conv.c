/* layer 3, conv example
 *
 * 4x4x2 Q2.5 -> 4x4x3 Q2.5, 960 MACs
 * window 3x3, stride 1x1, dilation 1x1, padding 1/1/1/1
 * 8-bit weights, scale 0.00879; requantization * 9 >> 10
 * ReLU6 fused: outputs from 0 to 127
 * scheme: interleaved, kernel: direct
 */
#include "window.h"
#include "fixed_point.h"
#include "layers.h"

enum {
  IN_HEIGHT = 4,
  IN_WIDTH = 4,
  IN_CHANNELS = 2,
  OUT_HEIGHT = 4,
  OUT_WIDTH = 4,
  OUT_CHANNELS = 3,
  KERNEL_HEIGHT = 3,
  KERNEL_WIDTH = 3,
  STRIDE_HEIGHT = 1,
  STRIDE_WIDTH = 1,
  DILATION_HEIGHT = 1,
  DILATION_WIDTH = 1,
  PAD_TOP = 1,
  PAD_LEFT = 1,
  LOW = 0,
  HIGH = 127,
};

static const int8_t layer_3_weights[54] TINYSPLIT_WEIGHTS(layer_3_weights) = {
  -114, -107, -101,  -94,  -88,  -81,  -75,  -68,  -62,  -55,  -49,  -42,  -36,  -29,  -23,  -16,
   -10,   -3,
     3,   10,   16,   23,   29,   36,   42,   49,   55,   62,   68,   75,   81,   88,   94,  101,
   107,  114,
  -114, -107, -101,  -94,  -88,  -81,  -75,  -68,  -62,  -55,  -49,  -42,  -36,  -29,  -23,  -16,
   -10,   -3,
};

static const int32_t layer_3_bias[3] TINYSPLIT_WEIGHTS(layer_3_bias) = {
  1820, -910,    0,
};

/* Requantizes the sum of an output channel and applies the fused activation. */
TINYSPLIT_INLINE int32_t requantize(int32_t sum, int32_t channel) {
  const int32_t factor = 9; /* of all channels */
  (void)channel;
  return fixed_point_requantize(sum, 0, factor, 512, 10, LOW, HIGH);
}

enum {
  GROUPS = 1,
  GROUP_INPUTS = IN_CHANNELS / GROUPS,
  GROUP_OUTPUTS = OUT_CHANNELS / GROUPS,
  KERNEL_SIZE = KERNEL_HEIGHT * KERNEL_WIDTH * GROUP_INPUTS,
};

/* Two output channels of one pixel: every loaded value is used for both. */
TINYSPLIT_INLINE void compute_two(const int8_t *x, const int8_t *w, int32_t rows, int32_t columns,
                                 int32_t channel, int8_t *output) {
  int32_t sum_0 = layer_3_bias[channel];
  int32_t sum_1 = layer_3_bias[channel + 1];
  for (int32_t row = 0; row < rows; row++) {
    const int8_t *x_row = x + row * DILATION_HEIGHT * IN_WIDTH * IN_CHANNELS;
    const int8_t *w_row = w + row * KERNEL_WIDTH * GROUP_INPUTS;
#pragma GCC unroll 4
    for (int32_t i = 0; i < columns * GROUP_INPUTS; i++) {
      sum_0 += x_row[i] * w_row[i];
      sum_1 += x_row[i] * w_row[KERNEL_SIZE + i];
    }
  }
  output[0] = (int8_t)requantize(sum_0, channel);
  output[1] = (int8_t)requantize(sum_1, channel + 1);
}

TINYSPLIT_INLINE void compute_one(const int8_t *x, const int8_t *w, int32_t rows, int32_t columns,
                                 int32_t channel, int8_t *output) {
  int32_t sum_0 = layer_3_bias[channel];
  for (int32_t row = 0; row < rows; row++) {
    const int8_t *x_row = x + row * DILATION_HEIGHT * IN_WIDTH * IN_CHANNELS;
    const int8_t *w_row = w + row * KERNEL_WIDTH * GROUP_INPUTS;
#pragma GCC unroll 4
    for (int32_t i = 0; i < columns * GROUP_INPUTS; i++) {
      sum_0 += x_row[i] * w_row[i];
    }
  }
  output[0] = (int8_t)requantize(sum_0, channel);
}

/* All output channels of one pixel, from the `rows` x `columns` kernel positions from `first` on. */
TINYSPLIT_INLINE void compute_pixel(const int8_t *x, int32_t first, int32_t rows, int32_t columns,
                                   int8_t *output) {
  const int8_t *w = layer_3_weights + first * GROUP_INPUTS;
  const int32_t channel = 0;
  compute_two(x, w + channel * KERNEL_SIZE, rows, columns, channel, output + channel);
  const int32_t last = OUT_CHANNELS - 1;
  compute_one(x, w + last * KERNEL_SIZE, rows, columns, last, output + last);
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
        compute_pixel(x, row * KERNEL_WIDTH + column, rows, columns, output);
      }
      output += OUT_CHANNELS;
    }
  }
}
