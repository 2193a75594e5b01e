/* The host port (host.c, frames.c, exchange.c, run.c): requests of any type, length and contents, and damaged frames.
 *
 * An input is a list of requests: type, length (two bytes), payload. They get frames with the right CRC, but for type
 * 0xFF, whose payload are bytes on the line. Memory beside the arena is guarded by AddressSanitizer.
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include "driver.h"

static int line_next(void);
static _Noreturn void board_end(int code);
static int host_takes(int byte) { return byte; }

#define getchar line_next
#define putchar host_takes
#define exit board_end
#define main board_main
#include "../c/host_port.c"
#undef getchar
#undef putchar
#undef exit
#undef main

#include "frames.h"

enum { RAW = 0xFF, REQUEST_HEAD = 3 };

static jmp_buf begin;
static const uint8_t *input;
static size_t left;
static uint8_t line[FRAME_MAX_PAYLOAD + FRAME_OVERHEAD_BYTES];
static size_t line_size, line_at;

/* Puts the next request on the line; false at the end of all inputs. */
static bool next_request(void) {
  static frame_transmitter_t transmitter;
  static uint8_t sequence;
  while (left < REQUEST_HEAD) {
    input = fuzz_next(&left);
    if (!input) return false;
  }
  frame_header_t header = {.type = input[0], .sequence = sequence++};
  size_t length = (size_t)(input[1] | input[2] << 8) % (FRAME_MAX_PAYLOAD + 1);
  input += REQUEST_HEAD;
  left -= REQUEST_HEAD;
  if (length > left) length = left;
  header.length = (uint16_t)length;
  line_at = line_size = 0;
  if (header.type == RAW) {
    while (line_size < length) line[line_size] = input[line_size], line_size++;
  } else {
    frame_transmit(&transmitter, &header, input);
    while (frame_next_byte(&transmitter, &line[line_size])) line_size++;
  }
  input += length;
  left -= length;
  return true;
}

static int line_next(void) {
  while (line_at == line_size) {
    if (!next_request()) return EOF;
  }
  return line[line_at++];
}

static void board_end(int code) {
  if (code == REBOOTED) longjmp(begin, 1);
  exit(code);
}

int main(int argc, char **argv) {
  fuzz_begin(argc, argv);
  setjmp(begin);
  board_main();
}
