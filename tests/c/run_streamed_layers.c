/* Runs layers whose input arrives row by row, from stdin, and writes their outputs to stdout as the layers announce
 * them. Rows that have not arrived hold other values. Where the output may lie over the input, the layer runs once more
 * in one buffer for both.
 */
#include "run_streamed_layers.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "row_stream.h"

static const struct layer_case *layer;
static const uint8_t *sent;
static uint8_t *arrived;
static const uint8_t *computed;
static uint8_t *announced;
static int rows_arrived, rows_announced, calls;

void row_stream_await(int32_t rows) {
  const size_t row_bytes = layer->input_bytes[layer->streamed] / (size_t)layer->in_rows;
  calls++;
  for (; rows_arrived < rows && rows_arrived < layer->in_rows; rows_arrived++) {
    memcpy(arrived + (size_t)rows_arrived * row_bytes, sent + (size_t)rows_arrived * row_bytes, row_bytes);
  }
}

void row_stream_done(int32_t rows) {
  const size_t row_bytes = layer->output_bytes / (size_t)layer->out_rows;
  if (rows != rows_announced + 1) exit(EXIT_FAILURE);
  memcpy(announced + (size_t)rows_announced * row_bytes, computed + (size_t)rows_announced * row_bytes, row_bytes);
  rows_announced = rows;
}

/* Returns whether all rows were announced, and none was changed after that. */
static int run(void *const *inputs, void *input, void *output, void *scratch) {
  void *own[MAX_INPUTS];
  for (int i = 0; i < MAX_INPUTS; i++) own[i] = i == layer->streamed ? input : inputs[i];
  sent = inputs[layer->streamed];
  arrived = input;
  computed = output;
  rows_arrived = rows_announced = calls = 0;
  memset(input, 0x5A, layer->input_bytes[layer->streamed]);
  layer->run(own, output, scratch);
  return rows_announced == layer->out_rows && calls <= layer->calls &&
         memcmp(announced, output, layer->output_bytes) == 0;
}

static int runs_apart(void *const *inputs, void *scratch) {
  void *input = malloc(layer->input_bytes[layer->streamed]), *output = malloc(layer->output_bytes);
  const int is_right = run(inputs, input, output, scratch);
  free(input);
  free(output);
  return is_right;
}

static int runs_in_place(void *const *inputs, void *scratch) {
  const size_t in_bytes = layer->input_bytes[layer->streamed];
  const size_t input_at = layer->distance > 0 ? (size_t)layer->distance : 0;
  const size_t output_at = layer->distance < 0 ? (size_t)-layer->distance : 0;
  const size_t input_end = input_at + in_bytes, output_end = output_at + layer->output_bytes;
  uint8_t *buffer = malloc(input_end > output_end ? input_end : output_end);
  uint8_t *expected = malloc(layer->output_bytes);
  memcpy(expected, announced, layer->output_bytes);
  const int is_right = run(inputs, buffer + input_at, buffer + output_at, scratch) &&
                       memcmp(expected, announced, layer->output_bytes) == 0;
  free(buffer);
  free(expected);
  return is_right;
}

int main(void) {
  for (size_t i = 0; i < case_count; i++) {
    layer = &cases[i];
    void *inputs[MAX_INPUTS];
    for (int k = 0; k < MAX_INPUTS; k++) inputs[k] = malloc(layer->input_bytes[k]);
    void *scratch = malloc(layer->scratch_bytes);
    announced = malloc(layer->output_bytes);
    for (int sample = 0; sample < sample_count; sample++) {
      for (int k = 0; k < MAX_INPUTS; k++) {
        if (fread(inputs[k], 1, layer->input_bytes[k], stdin) != layer->input_bytes[k]) return EXIT_FAILURE;
      }
      if (!runs_apart(inputs, scratch)) {
        fprintf(stderr, "case %zu announced %d rows, or other ones, in %d calls\n", i + 1, rows_announced, calls);
        return EXIT_FAILURE;
      }
      if (layer->distance != NONE && !runs_in_place(inputs, scratch)) {
        fprintf(stderr, "case %zu differs where its output lies over the input\n", i + 1);
        return EXIT_FAILURE;
      }
      fwrite(announced, 1, layer->output_bytes, stdout);
    }
    free(scratch);
    free(announced);
    for (int k = 0; k < MAX_INPUTS; k++) free(inputs[k]);
  }
  return EXIT_SUCCESS;
}
