/* layer 3, prelu example
 *
 * 4x4x2 Q2.5 -> 4x4x2 Q2.5, 32 MACs
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
  LOW = -128,
  HIGH = 127,
};

static const int32_t layer_3_factors[2] TINYSPLIT_WEIGHTS(layer_3_factors) = {
   1, -2,
};

enum {
  PIXELS = OUT_HEIGHT * OUT_WIDTH,
  ZERO = 0,
  FACTOR = 4, /* above zero */
  OFFSET = 2,
  SHIFT = 2,
};

/* In place: every element is read before it is written. */
void layer_3(const int8_t *input, int8_t *output) {
  for (int32_t pixel = 0; pixel < PIXELS; pixel++) {
    for (int32_t channel = 0; channel < OUT_CHANNELS; channel++) {
      const int32_t value = *input++ - ZERO;
      const int32_t factor = value < 0 ? layer_3_factors[channel] : FACTOR;
      *output++ = (int8_t)fixed_point_clamp((value * factor + OFFSET) >> SHIFT, LOW, HIGH);
    }
  }
}
