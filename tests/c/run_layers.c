/* Runs layers on inputs from stdin and writes their outputs to stdout; every buffer has exactly the size of its
 * tensor, so that AddressSanitizer sees one element too many. Where the output may lie over the input, the layer runs
 * once more in one buffer for both.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layers.h"

enum { MAX_INPUTS = 4 };

struct layer_case {
  void (*run)(void *const *inputs, void *output, void *scratch);
  size_t input_bytes[MAX_INPUTS]; /* of each, 0 behind the last */
  size_t output_bytes;
  size_t scratch_bytes;
  int lead_bytes; /* by which the output has to begin before the only input, -1 where it must lie elsewhere */
};

#include "cases.inc"

/* Returns whether the output is the same where it overlaps the input. */
static int runs_in_place(const struct layer_case *layer, const void *input, const void *output, void *scratch) {
  const size_t lead = (size_t)layer->lead_bytes, input_end = lead + layer->input_bytes[0];
  uint8_t *buffer = malloc(input_end > layer->output_bytes ? input_end : layer->output_bytes);
  void *inputs[MAX_INPUTS] = {buffer + lead};
  memcpy(inputs[0], input, layer->input_bytes[0]);
  layer->run(inputs, buffer, scratch);
  const int is_same = memcmp(buffer, output, layer->output_bytes) == 0;
  free(buffer);
  return is_same;
}

int main(void) {
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    void *inputs[MAX_INPUTS];
    for (int k = 0; k < MAX_INPUTS; k++) inputs[k] = malloc(cases[i].input_bytes[k]);
    void *output = malloc(cases[i].output_bytes);
    void *scratch = malloc(cases[i].scratch_bytes);
    for (int sample = 0; sample < SAMPLES; sample++) {
      for (int k = 0; k < MAX_INPUTS; k++) {
        if (fread(inputs[k], 1, cases[i].input_bytes[k], stdin) != cases[i].input_bytes[k]) return EXIT_FAILURE;
      }
      cases[i].run(inputs, output, scratch);
      if (cases[i].lead_bytes >= 0 && !runs_in_place(&cases[i], inputs[0], output, scratch)) {
        fprintf(stderr, "case %zu differs where its output lies over its input\n", i + 1);
        return EXIT_FAILURE;
      }
      fwrite(output, 1, cases[i].output_bytes, stdout);
    }
    free(scratch);
    for (int k = 0; k < MAX_INPUTS; k++) free(inputs[k]);
    free(output);
  }
  return EXIT_SUCCESS;
}
