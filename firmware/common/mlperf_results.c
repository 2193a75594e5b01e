#include "mlperf_results.h"

#include "exchange.h"
#include "mlperf_input.h"
#include "mlperf_settings.h"
#include "network.h"
#include "text_out.h"

/* Squares of differences, which are limited, are summed in steps of 2^-SQUARE_BITS. */
enum {
  DECIMALS = 6,
  MILLION = 1000000,
  LARGEST_DIFFERENCE = 1 << 26,
  SQUARE_SHIFT = 12,
  SQUARE_BITS = 2 * MLPERF_STEP_BITS - SQUARE_SHIFT,
};

static uint32_t outputs(void) { return network_output.bytes / mlperf_settings.output_value_bytes; }

static int32_t output_at(uint32_t index) {
  const uint8_t *at = network_arena + network_output.stage + index * mlperf_settings.output_value_bytes;
  return mlperf_value(at, mlperf_settings.output_value_bytes) - mlperf_settings.output_zero_point;
}

/* Without its sign. */
static uint64_t millionths(int32_t output) {
  uint64_t product = (uint64_t)(uint32_t)(output < 0 ? -output : output) * mlperf_settings.output_factor;
  uint32_t shift = mlperf_settings.output_shift;
  return shift ? ((product >> (shift - 1u)) + 1u) >> 1 : product;
}

/* Sign and digits of each output, with a comma in between. */
static const char *output_part(uint32_t part) {
  static char text[TEXT_NUMBER_CHARS];
  uint32_t index = part / 2;
  if (index >= outputs()) return 0;
  int32_t output = output_at(index);
  if (part % 2 == 0) return index ? (output < 0 ? ",-" : ",") : (output < 0 ? "-" : "");
  return text_of_number(text, millionths(output), DECIMALS);
}

/* The mean of the squared differences between output and input, in millionths. */
static uint64_t error(void) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < outputs(); i++) {
    int32_t output = output_at(i);
    int64_t steps = (int64_t)((millionths(output) << MLPERF_STEP_BITS) / MILLION);
    int64_t difference = (output < 0 ? -steps : steps) - mlperf_input_real(i);
    if (difference < 0) difference = -difference;
    if (difference > LARGEST_DIFFERENCE) difference = LARGEST_DIFFERENCE;
    sum += (uint64_t)(difference * difference) >> SQUARE_SHIFT;
  }
  return sum / outputs() * MILLION >> SQUARE_BITS;
}

static const char *error_part(uint32_t part) {
  static char text[TEXT_NUMBER_CHARS];
  return part ? 0 : text_of_number(text, error(), DECIMALS);
}

bool mlperf_results_send(void) {
  if (exchange_outputs_done == 0) return false;
  text_out("m-results-[");
  text_out_parts(mlperf_settings.reals ? error_part : output_part);
  text_out("]\r\n");
  return true;
}
