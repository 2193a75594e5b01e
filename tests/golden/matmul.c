/* layer 3, matmul example
 *
 * 4x4x2 Q2.13, 2x4x3 Q0.15 -> 4x4x3 Q2.13, 96 MACs
 * ReLU fused: outputs from 0 to 32767
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
  OUT_CHANNELS = 3,
  LOW = 0,
  HIGH = 32767,
};

enum {
  HEADS = OUT_WIDTH,
  TERMS = IN_CHANNELS, /* of each sum */
  STEP = HEADS * OUT_CHANNELS, /* to its next row */
};

void layer_3(const int16_t *input_0, const int16_t *input_1, int16_t *output) {
  for (int32_t row = 0; row < OUT_HEIGHT; row++) {
    for (int32_t head = 0; head < HEADS; head++) {
      const int16_t *a = input_0;
      for (int32_t column = 0; column < OUT_CHANNELS; column++) {
        const int16_t *b = input_1 + head * OUT_CHANNELS + column;
        int32_t sum = 1;
#pragma GCC unroll 4
        for (int32_t i = 0; i < TERMS; i++) {
          sum += fixed_point_shift(a[i], 1) * b[i * STEP];
        }
        *output++ = (int16_t)fixed_point_requantize(sum, 1, 1, 8192, 14, LOW, HIGH);
      }
      input_0 += TERMS;
    }
  }
}
