/* layer 3, concat example
 *
 * 4x4x2 Q2.5, 4x4x3 Q0.7 -> 4x4x5 Q2.5, 0 MACs
 * ReLU fused: outputs from 0 to 127
 * scheme: copy, kernel: direct
 */
#include "fixed_point.h"
#include "layers.h"

enum {
  IN_HEIGHT = 4,
  IN_WIDTH = 4,
  IN_CHANNELS = 2,
  OUT_HEIGHT = 4,
  OUT_WIDTH = 4,
  OUT_CHANNELS = 5,
  LOW = 0,
  HIGH = 127,
};

enum {
  PIXELS = OUT_HEIGHT * OUT_WIDTH,
};

void layer_3(const int8_t *input_0, const int8_t *input_1, int8_t *output) {
  for (int32_t pixel = 0; pixel < PIXELS; pixel++) {
    for (int32_t channel = 0; channel < 2; channel++) {
      *output++ = (int8_t)fixed_point_clamp(*input_0++, LOW, HIGH);
    }
    for (int32_t channel = 0; channel < 3; channel++) {
      *output++ = (int8_t)fixed_point_clamp((2 + *input_1++) >> 2, LOW, HIGH);
    }
  }
}
