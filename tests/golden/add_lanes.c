/* layer 3, add example
 *
 * 4x4x2 Q2.13, 4x4x2 Q0.15 -> 4x4x2 Q2.13, 32 MACs
 * ReLU fused: outputs from 0 to 32767
 * scheme: elementwise, kernel: lanes
 */
#include "dsp.h"
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
  HIGH = 32767,
};

enum {
  SIZE = OUT_HEIGHT * OUT_WIDTH * OUT_CHANNELS,
  OFFSET = 2,
  SHIFT = 2,
};

/* One sum. */
TINYSPLIT_INLINE int16_t one_sum(int32_t x_0, int32_t x_1) {
  return (int16_t)dsp_saturate(OFFSET + 4 * x_0 + 1 * x_1, SHIFT, LOW, HIGH);
}

#define EVERY_LANE(value) (0x00010001u * (uint16_t)(value))

/* Two sums. */
TINYSPLIT_INLINE uint32_t lane_sums(uint32_t x_0, uint32_t x_1) {
  x_1 = dsp_half_sum_halves(x_1, EVERY_LANE(2));
  x_1 = dsp_half_sum_halves(x_1, 0);
  uint32_t y = dsp_saturated_sum_halves(x_1, x_0);
  y = dsp_max_halves(y, EVERY_LANE(LOW));
  return y;
}

/* The output may overlap either input: elements are read before those of the same index are written. */
void layer_3(const int16_t *input_0, const int16_t *input_1, int16_t *output) {
  int32_t left = SIZE;
  for (; left >= 4; left -= 4) {
    const uint32_t x_0 = dsp_load(input_0), x_1 = dsp_load(input_1);
    const uint32_t next_0 = dsp_load(input_0 + 2), next_1 = dsp_load(input_1 + 2);
    dsp_store(output, lane_sums(x_0, x_1));
    dsp_store(output + 2, lane_sums(next_0, next_1));
    input_0 += 4;
    input_1 += 4;
    output += 4;
  }
  for (; left > 0; left--) {
    *output++ = one_sum(*input_0++, *input_1++);
  }
}
