/* Runs layers on inputs from stdin and writes their outputs to stdout; every buffer has exactly the size of its
 * tensor, so that AddressSanitizer sees one element too many.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "layers.h"

enum { MAX_INPUTS = 4 };

struct layer_case {
  void (*run)(VALUE *const *inputs, VALUE *output, void *scratch);
  size_t inputs[MAX_INPUTS]; /* elements of each, 0 behind the last */
  size_t outputs;
  size_t scratch_bytes;
};

#include "cases.inc"

int main(void) {
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    VALUE *inputs[MAX_INPUTS];
    for (int k = 0; k < MAX_INPUTS; k++) inputs[k] = malloc(cases[i].inputs[k] * sizeof(VALUE));
    VALUE *output = malloc(cases[i].outputs * sizeof(VALUE));
    void *scratch = malloc(cases[i].scratch_bytes);
    for (int sample = 0; sample < SAMPLES; sample++) {
      for (int k = 0; k < MAX_INPUTS; k++) {
        if (fread(inputs[k], sizeof(VALUE), cases[i].inputs[k], stdin) != cases[i].inputs[k]) return EXIT_FAILURE;
      }
      cases[i].run(inputs, output, scratch);
      fwrite(output, sizeof(VALUE), cases[i].outputs, stdout);
    }
    free(scratch);
    for (int k = 0; k < MAX_INPUTS; k++) free(inputs[k]);
    free(output);
  }
  return EXIT_SUCCESS;
}
