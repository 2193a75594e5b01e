/* A board that blocks in each call: inputs come from stdin, outputs go to stdout, the arguments are the files of links. */
#define _POSIX_C_SOURCE 200809L
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tinysplit.h"
#include "tinysplit_posix.h"

static tinysplit_posix_t posix;

#ifdef TINYSPLIT_INPUTS
/* What is left of inferences before leaves while there is no input. */
static void read_input(tinysplit_input_t *input) {
  for (size_t count = 0; count < TINYSPLIT_INPUT_BYTES;) {
    struct pollfd standard = {.fd = STDIN_FILENO, .events = POLLIN};
    (void)tinysplit_poll();
    (void)tinysplit_posix_wait(&posix, 1);
    if (poll(&standard, 1, 0) <= 0) continue;
    ssize_t more = read(STDIN_FILENO, (char *)input + count, TINYSPLIT_INPUT_BYTES - count);
    if (more > 0) count += (size_t)more;
  }
}
#endif

static void infer(void) {
#ifdef TINYSPLIT_INPUTS
  static tinysplit_input_t input[TINYSPLIT_INPUT_VALUES];
  read_input(input);
#endif
#ifdef TINYSPLIT_OUTPUTS
  static tinysplit_output_t output[TINYSPLIT_OUTPUT_VALUES];
#endif
  for (;;) {
#if defined(TINYSPLIT_INPUTS) && defined(TINYSPLIT_OUTPUTS)
    tinysplit_failure_t failure = tinysplit_infer(input, output);
#elif defined(TINYSPLIT_INPUTS)
    tinysplit_failure_t failure = tinysplit_infer(input);
#elif defined(TINYSPLIT_OUTPUTS)
    tinysplit_failure_t failure = tinysplit_infer(output);
#else
    tinysplit_failure_t failure = tinysplit_infer();
#endif
    if (failure == TINYSPLIT_NO_FAILURE) break;
    fprintf(stderr, "failure %d\n", (int)failure);
  }
#ifdef TINYSPLIT_OUTPUTS
  fwrite(output, sizeof output, 1, stdout);
  fflush(stdout);
#endif
}

int main(int count, char **links) {
  int files[TINYSPLIT_LINKS];
  if (count != TINYSPLIT_LINKS + 1) return 2;
  for (int i = 0; i < TINYSPLIT_LINKS; i++) files[i] = atoi(links[i + 1]);
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  tinysplit_posix_begin(&posix, &tinysplit_calls, files, TINYSPLIT_LINKS);
  tinysplit_begin(&posix.port, NULL, (uint32_t)now.tv_nsec ^ (uint32_t)getpid() << 16);
  for (;;) infer();
}
