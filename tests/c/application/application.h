/* Lets the application of the tests (rigs/standalone_boards.py) be that of a library. */
#ifndef APPLICATION_H
#define APPLICATION_H

#include "tinysplit.h"

void application_begin(void);
void application_idle(void);
void application_failure(uint8_t reason, uint8_t board);

static inline void tell_failure(void *context, tinysplit_failure_t reason, uint8_t board) {
  (void)context;
  application_failure((uint8_t)reason, board);
}

#ifdef TINYSPLIT_INPUTS
bool application_input(tinysplit_input_t *input);

static inline bool read_input(void *context, tinysplit_input_t *input) {
  (void)context;
  return application_input(input);
}
#endif

#ifdef TINYSPLIT_OUTPUTS
void application_output(const tinysplit_output_t *output);

static inline void write_output(void *context, const tinysplit_output_t *output) {
  (void)context;
  application_output(output);
}
#endif

static const __attribute__((unused)) tinysplit_application_t application = {
#ifdef TINYSPLIT_INPUTS
    .input = read_input,
#endif
#ifdef TINYSPLIT_OUTPUTS
    .output = write_output,
#endif
    .failure = tell_failure};

/* The same by the call that blocks. */
static inline tinysplit_failure_t application_infer(void) {
#ifdef TINYSPLIT_INPUTS
  static tinysplit_input_t input[TINYSPLIT_INPUT_VALUES];
  while (!application_input(input)) continue;
#endif
#ifdef TINYSPLIT_OUTPUTS
  static tinysplit_output_t output[TINYSPLIT_OUTPUT_VALUES];
#endif
#if defined(TINYSPLIT_INPUTS) && defined(TINYSPLIT_OUTPUTS)
  tinysplit_failure_t failure = tinysplit_infer(input, output);
#elif defined(TINYSPLIT_INPUTS)
  tinysplit_failure_t failure = tinysplit_infer(input);
#elif defined(TINYSPLIT_OUTPUTS)
  tinysplit_failure_t failure = tinysplit_infer(output);
#else
  tinysplit_failure_t failure = tinysplit_infer();
#endif
#ifdef TINYSPLIT_OUTPUTS
  if (failure == TINYSPLIT_NO_FAILURE) application_output(output);
#endif
  return failure;
}

#endif
