/* layer 3, lookup example
 *
 * 1x1x4 Q2.5 -> 1x1x4 Q2.5, 4 MACs
 * scheme: elementwise, kernel: direct
 */
#include "fixed_point.h"
#include "layers.h"

enum {
  IN_HEIGHT = 1,
  IN_WIDTH = 1,
  IN_CHANNELS = 4,
  OUT_HEIGHT = 1,
  OUT_WIDTH = 1,
  OUT_CHANNELS = 4,
  LOW = -128,
  HIGH = 127,
};

static const int8_t layer_3_table[256] TINYSPLIT_WEIGHTS(layer_3_table) = {
    0,   1,   2,   3,   4,   5,   6,   7,   8,   9,  10,  11,  11,  12,  13,  14,
   15,  16,  16,  17,  18,  18,  19,  20,  20,  21,  21,  22,  23,  23,  23,  24,
   24,  25,  25,  26,  26,  26,  27,  27,  27,  27,  28,  28,  28,  28,  29,  29,
   29,  29,  29,  29,  30,  30,  30,  30,  30,  30,  30,  30,  31,  31,  31,  31,
   31,  31,  31,  31,  31,  31,  31,  31,  31,  31,  31,  31,  31,  31,  32,  32,
   32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,
   32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,
   32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,
  -32, -32, -32, -32, -32, -32, -32, -32, -32, -32, -32, -32, -32, -32, -32, -32,
  -32, -32, -32, -32, -32, -32, -32, -32, -32, -32, -32, -32, -32, -32, -32, -32,
  -32, -32, -32, -32, -32, -32, -32, -32, -32, -32, -32, -32, -32, -32, -32, -32,
  -32, -32, -32, -31, -31, -31, -31, -31, -31, -31, -31, -31, -31, -31, -31, -31,
  -31, -31, -31, -31, -31, -30, -30, -30, -30, -30, -30, -30, -30, -29, -29, -29,
  -29, -29, -29, -28, -28, -28, -28, -27, -27, -27, -27, -26, -26, -26, -25, -25,
  -24, -24, -23, -23, -23, -22, -21, -21, -20, -20, -19, -18, -18, -17, -16, -16,
  -15, -14, -13, -12, -11, -11, -10,  -9,  -8,  -7,  -6,  -5,  -4,  -3,  -2,  -1,
};

enum {
  ELEMENTS = OUT_HEIGHT * OUT_WIDTH * OUT_CHANNELS,
};

TINYSPLIT_INLINE int8_t at(uint8_t x) {
  const int32_t value = layer_3_table[x];
  return (int8_t)fixed_point_clamp(value, LOW, HIGH);
}

/* In place: every element is read before it is written. */
void layer_3(const int8_t *input, int8_t *output) {
  int32_t i = 0;
#ifndef __ARM_ARCH_6M__ /* which loads no words at odd addresses */
#pragma GCC unroll 4
  for (; i < ELEMENTS - 3; i += 4) {
    dsp_store(output + i, dsp_look_up(layer_3_table, dsp_load(input + i)));
  }
#endif
#pragma GCC unroll 4
  for (; i < ELEMENTS; i++) {
    output[i] = at((uint8_t)input[i]);
  }
}
