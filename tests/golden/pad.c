/* layer 3, pad example
 *
 * 4x4x2 Q2.5 -> 7x5x2 Q2.5, 0 MACs
 * scheme: copy, kernel: direct
 */
#include "fixed_point.h"
#include "layers.h"

enum {
  IN_HEIGHT = 4,
  IN_WIDTH = 4,
  IN_CHANNELS = 2,
  OUT_HEIGHT = 7,
  OUT_WIDTH = 5,
  OUT_CHANNELS = 2,
  LOW = -128,
  HIGH = 127,
};

enum {
  PAD_TOP = 1,
  PAD_LEFT = 0,
  FILL = 48,
};

void layer_3(const int8_t *input, int8_t *output) {
  for (int32_t row = -PAD_TOP; row < OUT_HEIGHT - PAD_TOP; row++) {
    for (int32_t column = -PAD_LEFT; column < OUT_WIDTH - PAD_LEFT; column++) {
      const int32_t is_inside = row >= 0 && row < IN_HEIGHT && column >= 0 && column < IN_WIDTH;
      for (int32_t channel = 0; channel < OUT_CHANNELS; channel++) {
        const int32_t value = is_inside ? *input++ : FILL;
        *output++ = (int8_t)fixed_point_clamp(value, LOW, HIGH);
      }
    }
  }
}
