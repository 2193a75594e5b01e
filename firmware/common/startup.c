#include "startup.h"

#include <stdint.h>

#include "board.h"
#include "clock.h"
#include "cycle_counter.h"
#include "host.h"
#include "schedule.h"
#include "ticker.h"

/* Of the linker script. */
extern uint32_t _sidata[], _sdata[], _edata[], _sbss[], _ebss[], _vectors[];

int main(void);

static void initialize_memory(void) {
  const uint32_t *from = _sidata;
  for (uint32_t *to = _sdata; to < _edata; to++) *to = *from++;
  for (uint32_t *to = _sbss; to < _ebss; to++) *to = 0;
}

void startup_reset(void) {
  initialize_memory();
  SCB->VTOR = (uint32_t)_vectors;
  main();
}

/* A UART's clock is what the board's file says once the clocks are raised; before, no bus is divided. */
static uint32_t uart_clock_hz(const uart_t *uart) { return clock_ok ? uart->clock_hz : clock_core_hz; }

static void report_unexpected(uint8_t tag) { host_send_error(HOST_LINK_UNEXPECTED, tag); }

static void begin_link(link_t *link, uart_t *uart) {
  link_begin(link, uart->baud, uart, uart_wake, report_unexpected);
  uart_begin(uart, uart_clock_hz(uart), &link->receiver, &link->transmitter);
}

int main(void) {
  clock_begin();
  cycle_counter_begin();
  ticker_begin();
  board_begin();
  host_begin(uart_clock_hz(&board_host_uart));
  for (uint8_t i = 0; i < board_link_count; i++) begin_link(&board_links[i], &board_link_uarts[i]);
  schedule_run();
}
