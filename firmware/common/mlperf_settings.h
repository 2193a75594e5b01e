/* What MLPerf Tiny's protocol needs to know of the board and the network: the definition is in the generated
 * src/mlperf_settings.c.
 */
#ifndef MLPERF_SETTINGS_H
#define MLPERF_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
  const char *device; /* name of the board */
  const char *model;  /* of the benchmark */

  /* The network's input for each byte of the data set. */
  const int16_t *input_map;

  /* Room for an input of float32 values, where the data set has such: a value of it is real_factor / 2^real_shift times
   * their steps (mlperf_input.h). Without it and without a map, the bytes are those of the input itself.
   */
  uint8_t *reals;
  uint32_t real_factor;
  uint8_t real_shift;

  int16_t input_zero_point;
  uint8_t input_value_bytes; /* 1 or 2 */

  /* An output i stands for (i - zero_point) * factor / 2^shift millionths. */
  uint8_t output_value_bytes;
  uint8_t output_shift;
  uint32_t output_factor;
  int32_t output_zero_point;
} mlperf_settings_t;

extern const mlperf_settings_t mlperf_settings;

/* A value of the input or output, of one byte or two. */
static inline int32_t mlperf_value(const uint8_t *from, uint8_t bytes) {
  return bytes == 1 ? (int8_t)from[0] : (int16_t)(from[0] | from[1] << 8);
}

#endif
