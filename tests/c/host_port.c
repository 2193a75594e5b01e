/* The host port of a board without the board: bytes of the host on stdin, those of the board on stdout.
 *
 * Every byte is answered at once by all that is to be sent, and taken only while the board waits. The network reads 300
 * bytes, of which it gives the first 260, each one more. Both have buffers beside the arena if STAGED is 1. The flash is
 * good unless the arena begins with 200; where it begins with 201 the neighbours fail while the layer runs.
 */
#include <stdio.h>
#include <stdlib.h>

#include "board.h"
#include "clock.h"
#include "cycle_counter.h"
#include "error_codes.h"
#include "flash_check.h"
#include "host.h"
#include "host_bytes.h"
#include "network.h"
#include "reset.h"
#include "run.h"
#include "schedule.h"
#include "stack.h"
#include "ticker.h"
#include "times.h"
#include "transfers.h"

/* A stack of ten words, the last four of which were used. */
volatile uint32_t _stack_start[] = {STACK_GUARD,  STACK_UNUSED, STACK_UNUSED, STACK_UNUSED, STACK_UNUSED,
                                    STACK_UNUSED, 1,            2,            3,            4};
__asm__(".globl _estack\n.set _estack, _stack_start + 40");

enum { INPUT_BYTES = 300, OUTPUT_BYTES = 260, REBOOTED = 3 };

static void run_layer(void);

const uint32_t network_project_hash = 0x12345678;
const uint8_t network_board_index = 0;
const char *const network_note = "{\"board\":1}";
const uint16_t network_note_bytes = 11;
const network_tensor_t network_input = {.stage = STAGED ? INPUT_BYTES : 0, .bytes = INPUT_BYTES};
const network_tensor_t network_output = {.stage = STAGED ? 2 * INPUT_BYTES : 0, .bytes = OUTPUT_BYTES};
uint8_t network_arena[2 * INPUT_BYTES + OUTPUT_BYTES] __attribute__((aligned(4)));
void network_begin_run(void) {}
const network_step_t network_steps[] = {
    {.kind = NETWORK_INPUT}, {.kind = NETWORK_RUN, .index = 1, .what.run = run_layer}, {.kind = NETWORK_OUTPUT}};
const uint16_t network_step_count = 3;
network_time_t network_times[3];
uint32_t network_ended[3];
uint32_t network_link_ticks[3];
const bool network_has_long_layers = false;

uart_host_t board_host_uart;
bool clock_ok = true;
uint32_t clock_core_hz = 64000000;
uint8_t reset_cause = RESET_PIN;
uint32_t reset_count = 3;
volatile uint32_t ticker_ms;

static void fail_twice(void) {
  run_fail(ERROR_LINK_PEER_RESTARTED, 1);
  run_fail(ERROR_LINK_CORRUPT, 2);
  run_join(9);
}

static void run_layer(void) {
  if (network_arena[0] == 201) fail_twice();
  for (int i = 0; i < OUTPUT_BYTES; i++) network_arena[i]++;
  times_link_ticks += 7;
}

/* The counter wraps around three times between two looks, and is one more then. */
uint64_t cycle_counter_now(void) {
  static uint64_t now;
  return now += (3ull << 32) + 1;
}

bool flash_check(uint32_t *found) {
  *found = 0xBADBADu;
  return network_arena[0] != 200;
}

void ticker_start(void) {}

void ticker_sleep(void) {}

_Noreturn void reset_now(void) { exit(REBOOTED); }

void uart_host_begin(uart_host_t *port, uint32_t clock_hz) {
  (void)port;
  (void)clock_hz;
}

void uart_host_wake(uart_host_t *port) {
  uint8_t byte;
  (void)port;
  while (host_bytes_next(&byte)) putchar(byte);
}

void uart_host_send_polling(uart_host_t *port) { uart_host_wake(port); }

static uint8_t arrived;

bool uart_host_receive(uart_host_t *port, uint8_t *byte) {
  (void)port;
  *byte = arrived;
  return true;
}

void uart_host_go_on(uart_host_t *port) { (void)port; }

/* The links: there are none. While the board waits, the host sends. */
bool transfers_poll(void) {
  int byte = getchar();
  if (byte == EOF) exit(0);
  arrived = (uint8_t)byte;
  host_interrupt();
  if (host_is_busy() && byte == 0) host_tick(); /* time passes with bytes of 0 */
  return false;
}

RUN_TASK task = transfers_poll;

void transfers_join(uint32_t run) { (void)run; }

void transfers_leave(void) {}

uint32_t transfers_repeats(void) { return 9; }

uint32_t transfers_line_errors(void) { return 5; }

uint8_t transfers_driver(void) { return TRANSFERS_DMA; }

uint32_t transfers_stamps(const void **stamps) {
  static const uint32_t of_two[] = {1, 2, 3, 0, 5, 6, 7, 0};
  *stamps = of_two;
  return sizeof of_two;
}

int main(void) {
  host_begin(clock_core_hz);
  schedule_run();
}
