/* Connects the modules: brings up clocks, UARTs and links, then runs the schedule for ever. */
#include <stdint.h>

#include "board.h"
#include "clock.h"
#include "cycle_counter.h"
#include "host.h"
#include "interrupts.h"
#include "schedule.h"
#include "ticker.h"

int main(void);
void SysTick_Handler(void);

/* The UART's clock in the board file holds when the clocks are raised; at reset no bus is divided. */
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
  host_begin(uart_clock_hz(&board_host_uart.uart));
  for (uint8_t i = 0; i < board_link_count; i++) begin_link(&board_links[i], &board_link_uarts[i]);
  schedule_run();
}

/* Once a millisecond while the firmware waits. Masks interrupts for one link at a time: at 3 Mbaud a byte takes 3
 * us. */
void SysTick_Handler(void) {
  host_tick();
  for (uint8_t i = 0; i < board_link_count; i++) {
    uint32_t lock = interrupts_lock();
    link_tick(&board_links[i]);
    interrupts_unlock(lock);
  }
}
