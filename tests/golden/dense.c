/* layer 3, dense example
 *
 * 1x1x4 Q2.13 -> 1x1x3 Q2.13, 15 MACs
 * 16-bit weights, scales 3.24e-05 to 6.1e-05 per channel; requantization >> 5 * 17 to 32 >> 14
 * scheme: 1x1-non-interleaved, kernel: direct
 */
#include "fixed_point.h"
#include "layers.h"

enum {
  IN_HEIGHT = 1,
  IN_WIDTH = 1,
  IN_CHANNELS = 4,
  OUT_HEIGHT = 1,
  OUT_WIDTH = 1,
  OUT_CHANNELS = 3,
  LOW = -32768,
  HIGH = 32767,
};

static const int16_t layer_3_weights[12] TINYSPLIT_WEIGHTS(layer_3_weights) = {
  -16384, -15448, -14512, -13575,
  -16852, -15604, -14356, -13107,
  -16742, -14980, -13217, -11455,
};

static const int32_t layer_3_bias[3] TINYSPLIT_WEIGHTS(layer_3_bias) = {
  134217744, 178956987, 252645151,
};

static const uint16_t layer_3_corrections[3] TINYSPLIT_WEIGHTS(layer_3_corrections) = {
  32, 24, 17,
};

/* Requantizes the sum of an output channel and applies the fused activation. */
TINYSPLIT_INLINE int32_t requantize(int32_t sum, int32_t channel) {
  const int32_t factor = layer_3_corrections[channel];
  return fixed_point_requantize(sum, 5, factor, 8192, 14, LOW, HIGH);
}

enum {
  INPUTS = IN_HEIGHT * IN_WIDTH * IN_CHANNELS,
  OUTPUTS = OUT_CHANNELS,
};

void layer_3(const int16_t *restrict input, int16_t *restrict output) {
  const int16_t *w = layer_3_weights;
  /* Two outputs at a time: every loaded value is used for both. */
  const int32_t i = 0;
  int32_t sum_0 = layer_3_bias[i];
  int32_t sum_1 = layer_3_bias[i + 1];
#pragma GCC unroll 4
  for (int32_t j = 0; j < INPUTS; j++) {
    sum_0 += input[j] * w[j];
    sum_1 += input[j] * w[INPUTS + j];
  }
  output[i] = (int16_t)requantize(sum_0, i);
  output[i + 1] = (int16_t)requantize(sum_1, i + 1);
  w += 2 * INPUTS;
  int32_t sum = layer_3_bias[OUTPUTS - 1];
#pragma GCC unroll 4
  for (int32_t j = 0; j < INPUTS; j++) {
    sum += input[j] * w[j];
  }
  output[OUTPUTS - 1] = (int16_t)requantize(sum, OUTPUTS - 1);
}
