/* Connects the modules: brings up clocks, UARTs and links, then runs the schedule for ever. */
#include <stdint.h>

#include "application_calls.h"
#include "board.h"
#include "clock.h"
#include "cycle_counter.h"
#include "host.h"
#include "interrupts.h"
#include "network.h"
#include "reset.h"
#include "run.h"
#include "schedule.h"
#include "stack.h"
#include "standalone.h"
#include "stop_mode.h"
#include "ticker.h"
#include "times.h"
#include "transfers.h"
#include "watchdog.h"
#include "weights_update.h"

int main(void);
void SysTick_Handler(void);

int main(void) {
  stack_begin();
  reset_begin();
  clock_begin();
  standalone_begin();
  weights_update_finish();
  cycle_counter_begin();
  ticker_begin();
  watchdog_begin(network_watchdog_ms);
  board_begin();
  host_begin(clock_ok ? board_host_uart.uart.clock_hz : clock_core_hz);
  transfers_begin();
#ifdef STOP_MODE
  stop_mode_begin();
#endif
  application_calls_begin();
  schedule_run();
}

/* Once a millisecond while the firmware waits, or while something can time out: on links, as an interrupt of theirs,
 * with those that interrupt it.
 */
void SysTick_Handler(void) {
  uint32_t lock = interrupts_lock();
  uint32_t start = cycle_counter_low();
  uint32_t links = times_link_ticks;
  interrupts_unlock(lock);
  ticker_ms++;
  stack_check();
  (void)cycle_counter_now();
  host_tick();
  transfers_tick();
  lock = interrupts_lock(); /* what becomes busy after the test finds the ticker stopped */
  bool are_links_busy = transfers_are_busy();
  if (!run_needs_ticker() && !host_is_busy() && !are_links_busy) ticker_stop();
  if (are_links_busy) times_link_ticks = links + (cycle_counter_low() - start);
  interrupts_unlock(lock);
}
