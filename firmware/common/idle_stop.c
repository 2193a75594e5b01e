/* Between inferences the board stops, if nothing is under way: until the next input is due, or a neighbour, the host or
 * an interrupt of the application wakes it.
 */
#include "clock.h"
#include "host.h"
#include "interrupts.h"
#include "own_input.h"
#include "run.h"
#include "standalone.h"
#include "stop_mode.h"
#include "ticker.h"
#include "transfers.h"

#define MS_PER_S 1000u

static uint32_t quiet_since_ms;

static bool is_quiet(void) {
  return run_state == RUN_READY && !run_has_ended() && standalone_is_own() && standalone_host_is_quiet() &&
         !host_is_busy() && !host_is_sending() && transfers_are_joined() && !transfers_are_busy() &&
         !transfers_are_sending();
}

/* Of the counter of cycles, until the neighbours are asked whether they are there. */
static uint64_t until_probe(void) {
  uint32_t quiet_ms = ticker_ms - quiet_since_ms;
  return quiet_ms < STANDALONE_PROBE_MS ? (uint64_t)(STANDALONE_PROBE_MS - quiet_ms) * (clock_core_hz / MS_PER_S) : 0;
}

static void listen(bool does) {
  host_listen(does);
  transfers_listen(does);
}

static void stop_until(uint64_t cycles) {
  if (!stop_mode_pays(cycles)) return;
  listen(false);
  stop_mode_end_t end = stop_mode_enter(cycles);
  listen(true);
  if (end == STOP_MODE_BY_HOST) standalone_note_host();
  if (end == STOP_MODE_BY_LINE) transfers_stay_awake();
}

static bool stop_while_idle(void) {
  uint32_t lock = interrupts_lock();
  uint64_t left = own_input_left();
  uint64_t probe = until_probe();
  if (!is_quiet()) {
    quiet_since_ms = ticker_ms;
  } else if (probe == 0) {
    quiet_since_ms = ticker_ms;
    transfers_probe();
  } else {
    stop_until(left < probe ? left : probe);
  }
  interrupts_unlock(lock);
  return true;
}

RUN_TASK task = stop_while_idle;
