/* layer 3, partial sum example
 *
 * 1x4x2 Q2.5 -> 1x1x2 Q10.5, 8 MACs
 * scheme: copy, kernel: direct
 */
#include "fixed_point.h"
#include "layers.h"

enum {
  IN_HEIGHT = 1,
  IN_WIDTH = 4,
  IN_CHANNELS = 2,
  OUT_HEIGHT = 1,
  OUT_WIDTH = 1,
  OUT_CHANNELS = 2,
  LOW = -32768,
  HIGH = 32767,
};

enum { PIXELS = IN_HEIGHT * IN_WIDTH };

void layer_3(const int8_t *restrict input, int16_t *restrict output) {
  for (int32_t channel = 0; channel < IN_CHANNELS; channel++) {
    const int8_t *value = input + channel;
    int32_t sum = 0;
#pragma GCC unroll 4
    for (int32_t pixel = 0; pixel < PIXELS; pixel++) {
      sum += *value;
      value += IN_CHANNELS;
    }
    output[channel] = (int16_t)sum;
  }
}
