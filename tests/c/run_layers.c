/* Runs layers on inputs from stdin and writes their outputs to stdout; every buffer has exactly the size of its
 * tensor, so that AddressSanitizer sees one element too many. Where the output may lie over the input, the layer runs
 * once more in one buffer for both.
 */
#include "run_layers.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns whether the output is the same where it lies over input `k`. */
static int runs_over(const struct layer_case *layer, int k, void *const *inputs, const void *output, void *scratch) {
  const int distance = layer->distances[k];
  const size_t input_at = distance > 0 ? (size_t)distance : 0, output_at = distance < 0 ? (size_t)-distance : 0;
  const size_t input_end = input_at + layer->input_bytes[k], output_end = output_at + layer->output_bytes;
  uint8_t *buffer = malloc(input_end > output_end ? input_end : output_end);
  void *own[MAX_INPUTS];
  for (int i = 0; i < MAX_INPUTS; i++) own[i] = i == k ? buffer + input_at : inputs[i];
  memcpy(own[k], inputs[k], layer->input_bytes[k]);
  layer->run(own, buffer + output_at, scratch);
  const int is_same = memcmp(buffer + output_at, output, layer->output_bytes) == 0;
  free(buffer);
  return is_same;
}

int main(void) {
  for (size_t i = 0; i < case_count; i++) {
    void *inputs[MAX_INPUTS];
    for (int k = 0; k < MAX_INPUTS; k++) inputs[k] = malloc(cases[i].input_bytes[k]);
    void *output = malloc(cases[i].output_bytes);
    void *scratch = malloc(cases[i].scratch_bytes);
    for (int sample = 0; sample < sample_count; sample++) {
      for (int k = 0; k < MAX_INPUTS; k++) {
        if (fread(inputs[k], 1, cases[i].input_bytes[k], stdin) != cases[i].input_bytes[k]) return EXIT_FAILURE;
      }
      cases[i].run(inputs, output, scratch);
      for (int k = 0; k < MAX_INPUTS; k++) {
        if (cases[i].distances[k] != NONE && !runs_over(&cases[i], k, inputs, output, scratch)) {
          fprintf(stderr, "case %zu differs where its output lies over input %d\n", i + 1, k);
          return EXIT_FAILURE;
        }
      }
      fwrite(output, 1, cases[i].output_bytes, stdout);
    }
    free(scratch);
    for (int k = 0; k < MAX_INPUTS; k++) free(inputs[k]);
    free(output);
  }
  return EXIT_SUCCESS;
}
