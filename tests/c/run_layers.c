/* Runs layers on inputs from stdin and writes their outputs to stdout; every buffer has exactly the size of its
 * tensor, so that AddressSanitizer sees one element too many.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "layers.h"

struct layer_case {
  void (*run)(const VALUE *restrict input, VALUE *restrict output);
  size_t inputs;
  size_t outputs;
};

static const struct layer_case cases[] = {
#include "cases.inc"
};

int main(void) {
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    VALUE *input = malloc(cases[i].inputs * sizeof(VALUE));
    VALUE *output = malloc(cases[i].outputs * sizeof(VALUE));
    for (int sample = 0; sample < SAMPLES; sample++) {
      if (fread(input, sizeof(VALUE), cases[i].inputs, stdin) != cases[i].inputs) {
        return EXIT_FAILURE;
      }
      cases[i].run(input, output);
      fwrite(output, sizeof(VALUE), cases[i].outputs, stdout);
    }
    free(input);
    free(output);
  }
  return EXIT_SUCCESS;
}
