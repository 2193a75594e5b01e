/* layer 3, add example
 *
 * 4x4x2 Q2.5, 4x4x2 Q0.7 -> 4x4x2 Q2.5, 32 MACs
 * ReLU fused: outputs from 0 to 127
 * scheme: elementwise, kernel: direct
 */
#include "fixed_point.h"
#include "layers.h"

enum {
  IN_HEIGHT = 4,
  IN_WIDTH = 4,
  IN_CHANNELS = 2,
  OUT_HEIGHT = 4,
  OUT_WIDTH = 4,
  OUT_CHANNELS = 2,
  LOW = 0,
  HIGH = 127,
};

enum {
  PIXELS = OUT_HEIGHT * OUT_WIDTH,
  OFFSET = 2,
  SHIFT = 2,
};

/* The output may overlap the first input: every element is read before it is written. */
void layer_3(const int8_t *input_0, const int8_t *input_1, int8_t *output) {
  for (int32_t pixel = 0; pixel < PIXELS; pixel++) {
#pragma GCC unroll 4
    for (int32_t channel = 0; channel < OUT_CHANNELS; channel++) {
      const int32_t sum = OFFSET + 4 * input_0[channel] - 1 * input_1[channel];
      output[channel] = (int8_t)fixed_point_clamp(sum >> SHIFT, LOW, HIGH);
    }
    input_0 += OUT_CHANNELS;
    input_1 += OUT_CHANNELS;
    output += OUT_CHANNELS;
  }
}
