/* layer 3, dense example
 *
 * 1x1x4 Q2.13 -> 1x1x3 Q2.13, 15 MACC
 * weights Q1.14, sums and bias Q4.27, shifted right by 14 bits
 * scheme: interleaved (height x width x channels), technique: direct
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
};

static const int16_t layer_3_weights[12] TINYSPLIT_WEIGHTS(layer_3_weights) = {
  -16384, -15448, -14512, -13575,
  -12639, -11703, -10767,  -9830,
   -8894,  -7958,  -7022,  -6085,
};

static const int32_t layer_3_bias[3] TINYSPLIT_WEIGHTS(layer_3_bias) = {
  134217728, 134217728, 134217728,
};

enum {
  INPUTS = IN_HEIGHT * IN_WIDTH * IN_CHANNELS,
  OUTPUTS = OUT_CHANNELS,
  SHIFT = 14,
  LOW = -32768,
  HIGH = 32767,
};

void layer_3(const int16_t *restrict input, int16_t *restrict output) {
  const int16_t *w = layer_3_weights;
  /* Two outputs at a time: every value that is loaded serves both. */
  for (int32_t i = 0; i + 1 < OUTPUTS; i += 2) {
    int32_t sum_0 = layer_3_bias[i];
    int32_t sum_1 = layer_3_bias[i + 1];
#pragma GCC unroll 4
    for (int32_t j = 0; j < INPUTS; j++) {
      sum_0 += input[j] * w[j];
      sum_1 += input[j] * w[INPUTS + j];
    }
    output[i] = (int16_t)fixed_point_requantize(sum_0, SHIFT, LOW, HIGH);
    output[i + 1] = (int16_t)fixed_point_requantize(sum_1, SHIFT, LOW, HIGH);
    w += 2 * INPUTS;
  }
  int32_t sum = layer_3_bias[OUTPUTS - 1];
#pragma GCC unroll 4
  for (int32_t j = 0; j < INPUTS; j++) {
    sum += input[j] * w[j];
  }
  output[OUTPUTS - 1] = (int16_t)fixed_point_requantize(sum, SHIFT, LOW, HIGH);
}
