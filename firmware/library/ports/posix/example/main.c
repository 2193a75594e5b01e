/* One board as a process: its links are files, each named by its path or as the number of an open one. Inputs come from
 * stdin, each TINYSPLIT_INPUT_BYTES of integers, outputs go to stdout in the same way.
 *
 *     cc -std=c11 -O2 -I. -Iports/posix *.c ports/posix/tinysplit_posix.c ports/posix/example/main.c -o board1
 *     ./board1 /dev/ttyUSB0 < inputs
 */
#define _DEFAULT_SOURCE /* cfmakeraw */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "tinysplit.h"
#include "tinysplit_posix.h"

#ifdef TINYSPLIT_INPUTS
/* What has come of the input from stdin: a process that waits for it still answers its neighbours. */
static bool read_input(void *context, tinysplit_input_t *input) {
  static tinysplit_input_t bytes[TINYSPLIT_INPUT_VALUES];
  static size_t count;
  (void)context;
  struct pollfd standard = {.fd = STDIN_FILENO, .events = POLLIN};
  while (count < sizeof bytes && poll(&standard, 1, 0) > 0) {
    ssize_t more = read(STDIN_FILENO, (char *)bytes + count, sizeof bytes - count);
    if (more <= 0) return false;
    count += (size_t)more;
  }
  if (count < sizeof bytes) return false;
  memcpy(input, bytes, sizeof bytes);
  count = 0;
  return true;
}
#endif

#ifdef TINYSPLIT_OUTPUTS
static void write_output(void *context, const tinysplit_output_t *output) {
  (void)context;
  fwrite(output, TINYSPLIT_OUTPUT_BYTES, 1, stdout);
  fflush(stdout);
}
#endif

static void tell_failure(void *context, tinysplit_failure_t reason, uint8_t board) {
  (void)context;
  fprintf(stderr, "failure %d of board %d\n", (int)reason, board);
}

static int opened(const char *link) {
  char *end;
  long number = strtol(link, &end, 10);
  if (*end == '\0') return (int)number;
  int file = open(link, O_RDWR | O_NOCTTY);
  struct termios terminal;
  if (file >= 0 && tcgetattr(file, &terminal) == 0) {
    cfmakeraw(&terminal);
    (void)tcsetattr(file, TCSANOW, &terminal);
  }
  return file;
}

int main(int count, char **links) {
  static const tinysplit_application_t application = {
#ifdef TINYSPLIT_INPUTS
      .input = read_input,
#endif
#ifdef TINYSPLIT_OUTPUTS
      .output = write_output,
#endif
      .failure = tell_failure};
  static tinysplit_posix_t posix;
  int files[TINYSPLIT_LINKS];
  if (count != TINYSPLIT_LINKS + 1) return 2;
  for (int i = 0; i < TINYSPLIT_LINKS; i++) {
    files[i] = opened(links[i + 1]);
    if (files[i] < 0) return 1;
  }
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  tinysplit_posix_begin(&posix, &tinysplit_calls, files, TINYSPLIT_LINKS);
  tinysplit_begin(&posix.port, &application, (uint32_t)now.tv_nsec ^ (uint32_t)getpid() << 16);
  while (tinysplit_posix_wait(&posix, tinysplit_poll() ? 0 : 1) == 0) continue;
  return 0;
}
