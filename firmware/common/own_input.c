#include "own_input.h"

#include <string.h>

#include "application_calls.h"
#include "clock.h"
#include "cycle_counter.h"
#include "error_codes.h"
#include "run.h"
#include "standalone.h"
#include "ticker.h"
#include "transfers.h"

/* Nothing in this file runs for each byte: its size counts. */
#pragma GCC optimize("Os")

#define HZ_PER_MHZ 1000000u

enum { GUARD_BYTES = 8, GUARD_BYTE = 0xA5 };

static bool is_asking;
static bool is_there;

/* Of the next input, by the cycle counter. */
static uint64_t due;
static bool is_due_known;

void own_input_reset(void) { is_due_known = false; }

/* Time */

static uint64_t period(void) {
  return (uint64_t)(cycle_counter_hz(clock_core_hz) / HZ_PER_MHZ) * STANDALONE_FRAME_US;
}

/* The board is free: inputs may have been due meanwhile. The newest of them is taken late, or none. */
static void drop_late(void) {
  uint64_t now = cycle_counter_now();
  if (!is_due_known) due = now;
  is_due_known = true;
  uint64_t keep = STANDALONE_KEEPS_NEWEST ? period() : 0;
  while (due + keep < now) {
    due += period();
    standalone_counters.dropped++;
  }
}

/* The board has waited, for the application or for its neighbours: what was due meanwhile is neither late nor left out.
 * Each time it waits, so that nobody has to count hours of it. */
static void forget_due(void) {
  uint64_t now = cycle_counter_now();
  while (due + period() <= now) due += period();
}

static uint64_t left(void) {
  uint64_t now = cycle_counter_now();
  return now < due ? due - now : 0;
}

#ifdef STOP_MODE
uint64_t own_input_left(void) {
  if (is_there) return 0;
  return is_asking && STANDALONE_FRAME_US ? left() : UINT64_MAX;
}
#endif

/* The application */

static uint8_t *written(void) { return network_arena + STANDALONE_INPUT; }

static uint8_t *guard(void) { return written() + network_input.bytes; }

static bool is_overrun(void) {
  for (uint32_t i = 0; i < GUARD_BYTES; i++) {
    if (guard()[i] != GUARD_BYTE) return true;
  }
  return false;
}

static void call(void) {
  if (STANDALONE_HAS_GUARD) memset(guard(), GUARD_BYTE, GUARD_BYTES);
  is_there = application_calls_input(written());
  if (STANDALONE_HAS_GUARD && is_overrun()) run_fail(ERROR_INPUT_OVERRUN, network_input.bytes);
  bool is_moved = is_there && STANDALONE_INPUT != network_input.offset;
  if (is_moved) memmove(network_arena + network_input.offset, written(), network_input.bytes);
}

/* While the board waits. It stays awake before an input that is due before the next tick. */
static bool ask(void) {
  if (!is_asking || is_there) return true;
  bool is_joined = transfers_are_joined();
  uint64_t ticks = STANDALONE_FRAME_US && is_joined ? left() : 0;
  if (ticks) return ticks > ticker_left();
  if (is_joined) call();
  if (STANDALONE_FRAME_US && !is_there) forget_due();
  return true;
}

RUN_TASK task = ask;

static bool has_come(const void *unused) {
  (void)unused;
  return is_there;
}

bool own_input_take(void) {
  if (STANDALONE_FRAME_US) drop_late();
  is_there = false;
  is_asking = true;
  bool has_input = run_wait(has_come, 0);
  is_asking = false;
  if (!has_input) return false;
  if (STANDALONE_FRAME_US) due += period();
  standalone_counters.inputs++;
  return true;
}
