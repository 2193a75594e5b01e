/* The layers that run_layers.c runs: a generated file defines them, so that the program itself is compiled once. */
#ifndef RUN_LAYERS_H
#define RUN_LAYERS_H

#include <limits.h>
#include <stddef.h>

enum { MAX_INPUTS = 4, NONE = INT_MIN };

struct layer_case {
  void (*run)(void *const *inputs, void *output, void *scratch);
  size_t input_bytes[MAX_INPUTS]; /* of each, 0 behind the last */
  size_t output_bytes;
  size_t scratch_bytes;
  int distances[MAX_INPUTS]; /* bytes from the output to each input where they overlap most, NONE where they must not */
};

extern const struct layer_case cases[];
extern const size_t case_count;
extern const int sample_count;

#endif
