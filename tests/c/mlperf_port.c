/* A board that speaks MLPerf Tiny's protocol, without the board: bytes of the host on stdin, those of the board on
 * stdout. Everything that is to be sent leaves at once; a byte of the host is taken only while the board waits.
 *
 * The network reads 6 values and gives twice each, from -128 to 127, as (i - 2) / 4. VALUE_BYTES is 1 or 2. With MAPPED the
 * byte b of the data set stands for the value b - 100; with REALS the data set has float32 values, four steps of the
 * input each, from 1 on. Time passes by a millisecond with every look at the host's bytes
 * and by two with every inference. The byte 1 of the host resets the neighbours, 2 unplugs them, 3 damages the input.
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
#include "mlperf_settings.h"
#include "network.h"
#include "run.h"
#include "schedule.h"
#include "stack.h"
#include "ticker.h"
#include "transfers.h"

volatile uint32_t _stack_start[] = {STACK_GUARD};

enum { VALUES = 6, BYTES = VALUES * VALUE_BYTES, STAGE = 2 * VALUES, RESET_THEM = 1, UNPLUG_THEM, DAMAGE };

static void run_layer(void);

const uint32_t network_project_hash = 0x12345678;
const uint8_t network_board_index = 0;
const char *const network_note = "{\"board\":1}";
const uint16_t network_note_bytes = 11;
const network_tensor_t network_input = {.stage = STAGE, .bytes = BYTES};
const network_tensor_t network_output = {.stage = 2 * STAGE, .bytes = BYTES};
uint8_t network_arena[3 * STAGE] __attribute__((aligned(4)));
void network_begin_run(void) {}
const network_step_t network_steps[] = {
    {.kind = NETWORK_INPUT}, {.kind = NETWORK_RUN, .index = 1, .what.run = run_layer}, {.kind = NETWORK_OUTPUT}};
const uint16_t network_step_count = 3;
network_time_t network_times[3];
uint32_t network_ended[3];
uint32_t network_link_ticks[3];
const bool network_has_long_layers = false;

static int16_t input_map[256];
static uint8_t reals[4 * VALUES];
const mlperf_settings_t mlperf_settings = {
    .device = "board",
    .model = "kws01",
    .input_map = MAPPED ? input_map : NULL,
    .reals = REALS ? reals : NULL,
    .real_factor = 4,
    .real_shift = 16,
    .input_zero_point = 1,
    .input_value_bytes = VALUE_BYTES,
    .output_value_bytes = VALUE_BYTES,
    .output_factor = 1000000u << 2,
    .output_shift = 4,
    .output_zero_point = 2,
};

uart_host_t board_host_uart;
bool clock_ok = true;
uint32_t clock_core_hz = 64000000;
volatile uint32_t ticker_ms;
static uint64_t cycles;
static bool is_reset, is_unplugged;

/* The layer overwrites its input. */
static void run_layer(void) {
  if (is_reset) run_fail(ERROR_LINK_PEER_RESTARTED, 0);
  if (is_unplugged) run_warn(ERROR_LINK_NO_ANSWER, 3);
  is_reset = false;
  for (int i = 0; i < VALUES; i++) {
    int16_t value = (int16_t)(VALUE_BYTES == 1 ? (int8_t)network_arena[i]
                                               : network_arena[2 * i] | network_arena[2 * i + 1] << 8);
    value = (int16_t)(2 * value);
    network_arena[VALUE_BYTES * i] = (uint8_t)value;
    if (VALUE_BYTES == 2) network_arena[2 * i + 1] = (uint8_t)((uint16_t)value >> 8);
  }
  cycles += 2 * clock_core_hz / 1000;
}

uint64_t cycle_counter_now(void) { return cycles; }

bool flash_check(uint32_t *found) {
  *found = 0;
  return true;
}

void ticker_start(void) {}

void ticker_sleep(void) {}

uint32_t ticker_us(void) { return 1000 * ticker_ms; }

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

bool transfers_poll(void) {
  ticker_ms++;
  int byte = getchar();
  if (byte == EOF) exit(0);
  switch (byte) {
    case RESET_THEM: is_reset = true; break;
    case UNPLUG_THEM: is_unplugged = true; break;
    case DAMAGE: network_arena[STAGE] ^= 1u; break;
    default: arrived = (uint8_t)byte; host_interrupt();
  }
  return false;
}

RUN_TASK task = transfers_poll;

void transfers_join(uint32_t run) { (void)run; }

void transfers_leave(void) {}

int main(void) {
  for (int i = 0; i < 256; i++) input_map[i] = (int16_t)(i - 100);
  host_begin(clock_core_hz);
  schedule_run();
}
