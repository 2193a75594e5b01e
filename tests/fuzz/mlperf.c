/* The host port that speaks MLPerf Tiny's protocol (mlperf_host.c, mlperf_infer.c): any bytes on the line. */
#include <stdio.h>
#include <stdlib.h>

#include "driver.h"

static int line_next(void);
static int host_takes(int byte) { return byte; }

#define getchar line_next
#define putchar host_takes
#define main board_main
#include "../c/mlperf_port.c"
#undef getchar
#undef putchar
#undef main

static int line_next(void) {
  static const uint8_t *input;
  static size_t left;
  while (!left) {
    input = fuzz_next(&left);
    if (!input) return EOF;
  }
  left--;
  return *input++;
}

int main(int argc, char **argv) {
  fuzz_begin(argc, argv);
  board_main();
}
