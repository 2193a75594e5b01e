/* layer 3, upsample example
 *
 * 4x4x2 Q2.5 -> 8x12x2 Q2.5, 0 MACs
 * scheme: copy, kernel: direct
 */
#include "fixed_point.h"
#include "layers.h"

enum {
  IN_HEIGHT = 4,
  IN_WIDTH = 4,
  IN_CHANNELS = 2,
  OUT_HEIGHT = 8,
  OUT_WIDTH = 12,
  OUT_CHANNELS = 2,
  LOW = -128,
  HIGH = 127,
};

enum {
  ROWS = 2, /* of the output for each of the input */
  COLUMNS = 3,
};

void layer_3(const int8_t *input, int8_t *output) {
  for (int32_t row = 0; row < IN_HEIGHT; row++) {
    for (int32_t i = 0; i < ROWS; i++) {
      const int8_t *pixel = input + row * IN_WIDTH * IN_CHANNELS;
      for (int32_t column = 0; column < IN_WIDTH; column++) {
        for (int32_t j = 0; j < COLUMNS; j++) {
          for (int32_t channel = 0; channel < OUT_CHANNELS; channel++) {
            *output++ = (int8_t)fixed_point_clamp(pixel[channel], LOW, HIGH);
          }
        }
        pixel += IN_CHANNELS;
      }
    }
  }
}
