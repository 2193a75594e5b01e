/* layer 3, conv transpose example
 *
 * 4x4x2 Q2.5 -> 8x8x3 Q2.5, 576 MACs
 * 8-bit weights, scales 0.00269 to 0.00806 per channel; requantization * 11 to 33 >> 12
 * scheme: interleaved, kernel: direct
 */
#include "fixed_point.h"
#include "layers.h"

enum {
  IN_HEIGHT = 4,
  IN_WIDTH = 4,
  IN_CHANNELS = 2,
  OUT_HEIGHT = 8,
  OUT_WIDTH = 8,
  OUT_CHANNELS = 3,
  LOW = -128,
  HIGH = 127,
};

static const int8_t layer_3_weights[24] TINYSPLIT_WEIGHTS(layer_3_weights) = {
  -124, -117, -110, -103,  -96,  -89,  -82,  -74,
  -124, -111,  -98,  -85,  -72,  -59,  -46,  -33,
   -32,  -11,   11,   32,   53,   74,   96,  117,
};

static const int32_t layer_3_bias[3] TINYSPLIT_WEIGHTS(layer_3_bias) = {
   3972,  7282, 11916,
};

static const uint16_t layer_3_corrections[3] TINYSPLIT_WEIGHTS(layer_3_corrections) = {
  33, 18, 11,
};

/* Requantizes the sum of an output channel and applies the fused activation. */
TINYSPLIT_INLINE int32_t requantize(int32_t sum, int32_t channel) {
  const int32_t factor = layer_3_corrections[channel];
  return fixed_point_requantize(sum, 0, factor, 2048, 12, LOW, HIGH);
}

enum {
  KERNEL_HEIGHT = 2,
  KERNEL_WIDTH = 2,
  STRIDE_HEIGHT = 2,
  STRIDE_WIDTH = 2,
  DILATION_HEIGHT = 1,
  DILATION_WIDTH = 1,
  PAD_TOP = 0,
  PAD_LEFT = 0,
};

/* The row or column of the input that a kernel position adds to output position `at`, -1 for none. */
static inline int32_t source(int32_t at, int32_t stride, int32_t size) {
  return at < 0 || at % stride || at / stride >= size ? -1 : at / stride;
}

static int32_t sum_at(const int8_t *input, int32_t row, int32_t column, int32_t channel) {
  const int8_t *w = layer_3_weights + channel * KERNEL_HEIGHT * KERNEL_WIDTH * IN_CHANNELS;
  int32_t sum = layer_3_bias[channel];
  for (int32_t i = 0; i < KERNEL_HEIGHT; i++) {
    const int32_t in_row = source(row + PAD_TOP - i * DILATION_HEIGHT, STRIDE_HEIGHT, IN_HEIGHT);
    for (int32_t j = 0; j < KERNEL_WIDTH; j++) {
      const int32_t in_column = source(column + PAD_LEFT - j * DILATION_WIDTH, STRIDE_WIDTH, IN_WIDTH);
      if (in_row >= 0 && in_column >= 0) {
        const int8_t *x = input + (in_row * IN_WIDTH + in_column) * IN_CHANNELS;
        for (int32_t k = 0; k < IN_CHANNELS; k++) {
          sum += x[k] * w[k];
        }
      }
      w += IN_CHANNELS;
    }
  }
  return sum;
}

void layer_3(const int8_t *restrict input, int8_t *restrict output) {
  for (int32_t row = 0; row < OUT_HEIGHT; row++) {
    for (int32_t column = 0; column < OUT_WIDTH; column++) {
      for (int32_t channel = 0; channel < OUT_CHANNELS; channel++) {
        *output++ = (int8_t)requantize(sum_at(input, row, column, channel), channel);
      }
    }
  }
}
