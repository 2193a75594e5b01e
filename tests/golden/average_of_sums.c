/* layer 3, average of sums example
 *
 * 1x1x2 Q10.5, 1x1x2 Q10.5 -> 1x1x2 Q2.5, 4 MACs
 * scheme: copy, kernel: direct
 */
#include "fixed_point.h"
#include "layers.h"

enum {
  IN_HEIGHT = 1,
  IN_WIDTH = 1,
  IN_CHANNELS = 2,
  OUT_HEIGHT = 1,
  OUT_WIDTH = 1,
  OUT_CHANNELS = 2,
  LOW = -128,
  HIGH = 127,
};

enum { ELEMENTS = 16 };

/* The output for the sum of `elements` values, of which the average divides by `count`. */
TINYSPLIT_INLINE int8_t average(int32_t sum, int32_t elements, int32_t count) {
  (void)elements;
  (void)count;
  /* A quotient by a product, exact for every sum of a whole window. */
  return (int8_t)fixed_point_requantize(sum, 0, 1, 8, 4, LOW, HIGH);
}

void layer_3(const int16_t *input_0, const int16_t *input_1, int8_t *output) {
  for (int32_t channel = 0; channel < OUT_CHANNELS; channel++) {
    const int32_t sum = input_0[channel] + input_1[channel];
    output[channel] = average(sum, ELEMENTS, ELEMENTS);
  }
}
