/* layer 3, permute example
 *
 * 4x4x2 Q2.5 -> 4x2x4 Q2.5, 0 MACs
 * scheme: copy, kernel: direct
 */
#include "fixed_point.h"
#include "layers.h"

enum {
  IN_HEIGHT = 4,
  IN_WIDTH = 4,
  IN_CHANNELS = 2,
  OUT_HEIGHT = 4,
  OUT_WIDTH = 2,
  OUT_CHANNELS = 4,
  LOW = -128,
  HIGH = 127,
};

void layer_3(const int8_t *restrict input, int8_t *restrict output) {
  for (int32_t i1 = 0; i1 < 4; i1++) {
    for (int32_t i2 = 0; i2 < 2; i2++) {
      for (int32_t i3 = 0; i3 < 4; i3++) {
        const int32_t source = i1 * 8 + i2 + i3 * 2;
        *output++ = (int8_t)fixed_point_clamp(input[source], LOW, HIGH);
      }
    }
  }
}
