/* layer 3, arg max example
 *
 * 4x4x2 Q2.5 -> 4x4x1 Q7.0 at -128, 32 MACs
 * scheme: 1x1-non-interleaved, kernel: direct
 */
#include "fixed_point.h"
#include "layers.h"

enum {
  IN_HEIGHT = 4,
  IN_WIDTH = 4,
  IN_CHANNELS = 2,
  OUT_HEIGHT = 4,
  OUT_WIDTH = 4,
  OUT_CHANNELS = 1,
  LOW = -128,
  HIGH = 127,
};

enum { PIXELS = IN_HEIGHT * IN_WIDTH };

void layer_3(const int8_t *restrict input, int8_t *restrict output) {
  for (int32_t pixel = 0; pixel < PIXELS; pixel++) {
    int32_t largest = input[0], found = 0;
    for (int32_t channel = 1; channel < IN_CHANNELS; channel++) {
      if (input[channel] >= largest) {
        largest = input[channel];
        found = channel;
      }
    }
    *output++ = (int8_t)fixed_point_clamp(found + (-128), LOW, HIGH);
    input += IN_CHANNELS;
  }
}
