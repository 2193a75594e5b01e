/* layer 3, add example
 *
 * 4x4x2 Q2.5, 4x4x2 Q0.7 -> 4x4x2 Q2.5, 32 MACs
 * ReLU fused: outputs from 0 to 127
 * scheme: elementwise, kernel: swar
 */
#include "swar.h"
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
  SIZE = OUT_HEIGHT * OUT_WIDTH * OUT_CHANNELS,
  OFFSET = 2,
  SHIFT = 2,
};

/* One sum. */
TINYSPLIT_INLINE int8_t one_sum(int32_t x_0, int32_t x_1) {
  const int32_t sum = OFFSET + 4 * x_0 + 1 * x_1;
  return (int8_t)fixed_point_clamp(sum >> SHIFT, LOW, HIGH);
}

/* Four sums of values x + 128. */
TINYSPLIT_INLINE uint32_t four_sums(uint32_t x_0, uint32_t x_1) {
  x_1 = swar_half_sum(x_1, SWAR_EVERY(130));
  x_1 = swar_half_sum(x_1, SWAR_EVERY(128));
  return swar_positive_sum(x_1, x_0);
}

/* The output may overlap either input: elements are read before those of the same index are written. */
void layer_3(const int8_t *input_0, const int8_t *input_1, int8_t *output) {
  int32_t i = 0;
  for (; i < SIZE / 4 * 4; i += 4) {
    const uint32_t x_0 = swar_load(input_0 + i) ^ SWAR_EVERY(128), x_1 = swar_load(input_1 + i) ^ SWAR_EVERY(128);
    swar_store(output + i, four_sums(x_0, x_1));
  }
  for (; i < SIZE; i++) {
    output[i] = one_sum(input_0[i], input_1[i]);
  }
}
