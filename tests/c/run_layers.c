/* Runs layers on inputs from stdin and writes their outputs to stdout; every buffer has exactly the size of its
 * tensor, so that AddressSanitizer sees one element too many.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "layers.h"

struct layer_case {
  void (*run)(const VALUE *restrict input, VALUE *restrict output);
  void (*run_with_scratch)(const VALUE *restrict input, VALUE *restrict output, void *restrict scratch);
  size_t inputs;
  size_t outputs;
  size_t scratch_bytes;
};

static const struct layer_case cases[] = {
#include "cases.inc"
};

int main(void) {
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    VALUE *input = malloc(cases[i].inputs * sizeof(VALUE));
    VALUE *output = malloc(cases[i].outputs * sizeof(VALUE));
    void *scratch = malloc(cases[i].scratch_bytes);
    for (int sample = 0; sample < SAMPLES; sample++) {
      if (fread(input, sizeof(VALUE), cases[i].inputs, stdin) != cases[i].inputs) {
        return EXIT_FAILURE;
      }
      if (cases[i].run != NULL) {
        cases[i].run(input, output);
      } else {
        cases[i].run_with_scratch(input, output, scratch);
      }
      fwrite(output, sizeof(VALUE), cases[i].outputs, stdout);
    }
    free(scratch);
    free(input);
    free(output);
  }
  return EXIT_SUCCESS;
}
