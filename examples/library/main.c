/* A program that has nothing else of tinysplit: reads inputs from stdin, one after the other, and prints the outputs. */
#include <stdio.h>

#include "tinysplit.h"

int main(void) {
  static tinysplit_input_t input[TINYSPLIT_INPUT_VALUES];
  tinysplit_output_t output[TINYSPLIT_OUTPUT_VALUES];
  tinysplit_init();
  while (fread(input, sizeof input, 1, stdin) == 1) {
    tinysplit_run(input, output);
    for (int i = 0; i < TINYSPLIT_OUTPUT_VALUES; i++) {
      printf("%s%g", i ? " " : "", (double)(TINYSPLIT_OUTPUT_SCALE * (float)(output[i] - TINYSPLIT_OUTPUT_ZERO_POINT)));
    }
    putchar('\n');
  }
  return 0;
}
