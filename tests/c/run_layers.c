/* Runs layers on inputs from stdin and writes their outputs to stdout; every buffer has exactly the size of its
 * tensor, so that AddressSanitizer sees one element too many.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "layers.h"

enum { MAX_INPUTS = 4 };

struct layer_case {
  void (*run)(void *const *inputs, void *output, void *scratch);
  size_t input_bytes[MAX_INPUTS]; /* of each, 0 behind the last */
  size_t output_bytes;
  size_t scratch_bytes;
};

#include "cases.inc"

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
      fwrite(output, 1, cases[i].output_bytes, stdout);
    }
    free(scratch);
    for (int k = 0; k < MAX_INPUTS; k++) free(inputs[k]);
    free(output);
  }
  return EXIT_SUCCESS;
}
