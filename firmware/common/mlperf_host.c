/* The host port in MLPerf Tiny's protocol (docs/reference/mlperf.md), in place of host.c: commands end with %, answers
 * are lines.
 */
#include <string.h>

#include "board.h"
#include "host.h"
#include "mlperf_infer.h"
#include "mlperf_input.h"
#include "mlperf_results.h"
#include "mlperf_settings.h"
#include "network.h"
#include "text_out.h"
#include "ticker.h"

enum { COMMAND_CHARS = 80, COMMAND_END = '%', DEFAULT_WARM_UPS = 10, MOST_DIGITS = 9, HEX_DIGITS = 2 };
enum { LINE_BYTES = 8 };

static const char help[] =
    "ULPMark for tinyML Firmware V0.0.1\r\n"
    "\r\n"
    "help         : Print this information\r\n"
    "name         : Print the name of the device\r\n"
    "timestamp    : Print the time in microseconds\r\n"
    "profile      : Print the names of firmware and model\r\n"
    "note         : Print what this program is\r\n"
    "db SUBCMD    : Load the input\r\n"
    "  load N     : Expect N bytes\r\n"
    "  db HH[HH]* : Load 8-bit hex byte(s) until N bytes\r\n"
    "  print      : Print the loaded bytes as hex\r\n"
    "infer N [W=10]: Execute N inferences after W warmup loops\r\n"
    "results      : Print the result vector\r\n";

static char command[COMMAND_CHARS + 1];
static uint8_t length;
static bool is_loading;

/* Words */

/* Returns the next word and moves `rest` behind it; NULL when there is none. */
static char *next_word(char **rest) {
  char *word = *rest;
  while (*word == ' ') word++;
  if (!*word) return NULL;
  char *end = word;
  while (*end && *end != ' ') end++;
  if (*end) *end++ = 0;
  *rest = end;
  return word;
}

static bool read_number(const char *word, uint32_t *number) {
  *number = 0;
  uint32_t digits = 0;
  for (; *word >= '0' && *word <= '9' && digits < MOST_DIGITS; digits++) {
    *number = 10u * *number + (uint32_t)(*word++ - '0');
  }
  return digits && !*word;
}

static int32_t hex_digit(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

/* The input */

static void begin_load(const char *word) {
  uint32_t count;
  is_loading = false;
  mlperf_input_begin();
  if (!word || !read_number(word, &count) || count != mlperf_input_bytes()) {
    text_out("e-[Command 'db load' needs the input's ");
    text_out_number(mlperf_input_bytes());
    text_out(" bytes]\r\n");
    return;
  }
  is_loading = true;
  text_out("m-[Expecting ");
  text_out_number(count);
  text_out(" bytes]\r\n");
}

/* What follows the last byte of the input is ignored. */
static void load(const char *digits) {
  if (!is_loading) {
    text_out("e-[Command 'db load' comes first]\r\n");
    return;
  }
  if (strlen(digits) % HEX_DIGITS) {
    text_out("e-[Insufficient number of hex digits]\r\n");
    return;
  }
  for (; *digits && is_loading; digits += HEX_DIGITS) {
    int32_t high = hex_digit(digits[0]), low = hex_digit(digits[1]);
    if (high < 0 || low < 0) {
      text_out("e-[Invalid hex digit]\r\n");
      return;
    }
    mlperf_input_take((uint8_t)(high << 4 | low));
    is_loading = mlperf_input_taken < mlperf_input_bytes();
  }
  if (!is_loading) text_out("m-load-done\r\n");
}

/* Two digits of each byte that was taken, with what stands before and behind them. */
static const char *buffer_part(uint32_t part) {
  static const char digits[] = "0123456789abcdef";
  static char text[HEX_DIGITS + 1];
  uint32_t index = part / 3;
  if (index >= mlperf_input_taken) return NULL;
  bool is_end = (index + 1) % LINE_BYTES == 0 || index + 1 == mlperf_input_taken;
  if (part % 3 == 0) return index % LINE_BYTES ? "-" : "m-buffer-";
  if (part % 3 == 2) return is_end ? "\r\n" : "";
  uint8_t byte = mlperf_input_byte(index);
  text[0] = digits[byte >> 4];
  text[1] = digits[byte & 15u];
  return text;
}

/* Commands: whether they are done when they return. */

/* The note has no end but its length. */
static const char *note_part(uint32_t index) {
  static char character[2];
  if (index >= network_note_bytes) return NULL;
  character[0] = network_note[index];
  return character;
}

static bool do_name(char *rest) {
  (void)rest;
  text_out("m-name-dut-[");
  text_out(mlperf_settings.device);
  text_out("]\r\n");
  return true;
}

static bool do_timestamp(char *rest) {
  (void)rest;
  text_out("m-lap-us-");
  text_out_number(mlperf_us());
  text_out("\r\n");
  return true;
}

static bool do_profile(char *rest) {
  (void)rest;
  text_out("m-profile-[ULPMark for tinyML Firmware V0.0.1]\r\nm-model-[");
  text_out(mlperf_settings.model);
  text_out("]\r\n");
  return true;
}

static bool do_note(char *rest) {
  (void)rest;
  text_out("m-tinysplit-[");
  text_out_parts(note_part);
  text_out("]\r\n");
  return true;
}

static bool do_help(char *rest) {
  (void)rest;
  text_out(help);
  return true;
}

static bool do_db(char *rest) {
  char *word = next_word(&rest);
  if (!word) {
    text_out("e-[Command 'db' requires a subcommand]\r\n");
  } else if (strcmp(word, "load") == 0) {
    begin_load(next_word(&rest));
  } else if (strcmp(word, "print") == 0) {
    text_out_parts(buffer_part);
  } else {
    load(word);
  }
  return true;
}

static bool do_results(char *rest) {
  (void)rest;
  if (!mlperf_results_send()) text_out("e-[There are no results yet]\r\n");
  return true;
}

static bool do_infer(char *rest) {
  uint32_t count = 1, warm_ups = DEFAULT_WARM_UPS;
  const char *counted = next_word(&rest), *warmed = next_word(&rest);
  if (counted && (!read_number(counted, &count) || count == 0)) {
    text_out("e-[Inference iterations must be >0]\r\n");
  } else if (warmed && !read_number(warmed, &warm_ups)) {
    text_out("e-[Inference warmup must be >=0]\r\n");
  } else if (mlperf_input_taken != mlperf_input_bytes()) {
    text_out("e-[There is no input: use 'db load']\r\n");
  } else {
    mlperf_infer(count, warm_ups, mlperf_input_crc);
    return false;
  }
  return true;
}

static const struct {
  const char *name;
  bool (*obey)(char *rest);
} commands[] = {{"name", do_name}, {"timestamp", do_timestamp}, {"profile", do_profile}, {"note", do_note},
                {"help", do_help}, {"db", do_db}, {"infer", do_infer}, {"results", do_results}};

static bool obey(char *rest) {
  const char *word = next_word(&rest);
  if (!word) return true;
  for (uint32_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
    if (strcmp(word, commands[i].name) == 0) return commands[i].obey(rest);
  }
  text_out("e-[Unknown command: ");
  text_out(word);
  text_out("]\r\n");
  return true;
}

static void take(uint8_t byte) {
  if (byte != COMMAND_END) {
    if (byte >= ' ' && length < COMMAND_CHARS) command[length++] = (char)byte;
    return;
  }
  command[length] = 0;
  length = 0;
  if (mlperf_is_inferring()) {
    mlperf_infer_cancel();
    text_out("e-[The inference was given up]\r\n");
  }
  if (obey(command)) text_out("m-ready\r\n");
  uart_host_wake(&board_host_uart);
}

void host_begin(uint32_t uart_clock_hz) {
  uart_host_begin(&board_host_uart, uart_clock_hz);
  ticker_start();
  text_out("m-timestamp-mode-performance\r\nm-lap-us-0\r\nm-init-done\r\nm-ready\r\n");
  uart_host_wake(&board_host_uart);
  mlperf_infer_begin();
}

void host_interrupt(void) {
  uint8_t byte;
  if (uart_host_receive(&board_host_uart, &byte)) take(byte);
  uart_host_go_on(&board_host_uart);
}

/* The ticker counts the time in which nothing is inferred. */
bool host_is_busy(void) { return !mlperf_is_inferring(); }

void host_tick(void) {}
