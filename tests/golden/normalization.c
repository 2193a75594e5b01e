/* layer 3, normalization example
 *
 * 4x4x2 Q2.5 -> 4x4x2 Q2.5, 96 MACs
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
  123582, 131072,
};

static const int32_t layer_3_offsets[2] TINYSPLIT_WEIGHTS(layer_3_offsets) = {
  -132058785, -124385456,
};

enum {
  ELEMENTS = 32, /* of a group: CHANNELS of every pixel */
  CHANNELS = 2,
  PIXELS = IN_HEIGHT * IN_WIDTH,
  COUNT = 1073741824, /* ELEMENTS in 31 bits */
  FRACTION_BITS = 7, /* of values without their mean */
  EXPONENT = 22,
  MOST_SHIFT = 31,
  SHIFT = 22,
};

/* Normalizes a group. In place: all its elements are read before the first is written. */
TINYSPLIT_INLINE void normalize(const int8_t *x, const int32_t *factors, const int32_t *offsets, int8_t *y) {
  int32_t sum = 0;
  uint32_t squares = 0;
  for (int32_t pixel = 0; pixel < PIXELS; pixel++) {
    for (int32_t channel = 0; channel < CHANNELS; channel++) {
      const int32_t value = x[pixel * IN_CHANNELS + channel];
      sum += value;
      squares += (uint32_t)value * (uint32_t)value;
    }
  }
  /* ELEMENTS^2 times variance and epsilon; it is below ELEMENTS where all are equal. */
  const uint64_t spread = (uint64_t)squares * ELEMENTS - (uint64_t)((int64_t)sum * sum) + 10u;
  const int32_t mean = fixed_point_quotient(sum * (1 << FRACTION_BITS), ELEMENTS);
  const uint64_t square = spread < ELEMENTS ? ELEMENTS : spread;
  const int32_t zeros = __builtin_clzll(square) & ~1;
  const uint32_t root = fixed_point_root((uint32_t)((square << zeros) >> 32));
  const int32_t reciprocal = (int32_t)((COUNT + root / 2) / root);
  const int32_t exponent = EXPONENT + 16 - zeros / 2;
  const int32_t shift = exponent < MOST_SHIFT ? exponent : MOST_SHIFT;
  for (int32_t pixel = 0; pixel < PIXELS; pixel++) {
    for (int32_t channel = 0; channel < CHANNELS; channel++) {
      const int32_t centered = x[pixel * IN_CHANNELS + channel] * (1 << FRACTION_BITS) - mean;
      const int32_t normalized = (centered * reciprocal) >> shift;
      const int32_t scaled = normalized * factors[channel];
      y[pixel * IN_CHANNELS + channel] = (int8_t)fixed_point_clamp((scaled + offsets[channel]) >> SHIFT, LOW, HIGH);
    }
  }
}

void layer_3(const int8_t *input, int8_t *output) {
  const int32_t channel = 0;
  const int32_t i = 0;
  normalize(input + i, layer_3_factors + channel, layer_3_offsets + channel, output + i);
}
