#include "run.h"

#include "error_codes.h"
#include "host_events.h"
#include "interrupts.h"
#include "network.h"
#include "ticker.h"
#include "times.h"
#include "watchdog.h"

volatile uint8_t run_state = RUN_STOPPED;
volatile uint32_t run_number;
uint32_t run_inference;
volatile uint8_t run_error;
volatile uint32_t run_error_detail;
bool run_keeps_times;

static run_request_t pending;
static volatile uint8_t pending_type; /* of `pending` */
static volatile uint32_t joining;
static volatile bool has_failed;
static volatile bool is_waiting;
static volatile bool has_changed;

void run_request(const run_request_t *request) {
  uint32_t lock = interrupts_lock();
  pending = *request;
  pending_type = request->type;
  interrupts_unlock(lock);
}

void run_join(uint32_t number) { joining = number; }

void run_fail(uint8_t code, uint32_t detail) {
  uint32_t lock = interrupts_lock();
  if (!has_failed && run_state != RUN_STOPPED) {
    run_error = code;
    run_error_detail = detail;
    has_failed = true;
    host_tell_error(code, detail);
  }
  interrupts_unlock(lock);
}

void run_warn(uint8_t code, uint32_t detail) {
  if (has_failed || run_state == RUN_STOPPED) return;
  run_error = code;
  run_error_detail = detail;
  if (code) host_tell_error(code, detail);
}

bool run_has_ended(void) { return pending_type || joining || has_failed; }

bool run_take_request(run_request_t *request) {
  *request = pending;
  pending_type = 0;
  pending.type = 0;
  return request->type != 0;
}

bool run_take_failure(void) {
  bool was = has_failed;
  has_failed = false;
  return was;
}

uint32_t run_take_join(void) {
  uint32_t number = joining;
  joining = 0;
  return number;
}

void run_begin(uint32_t number) {
  run_number = number;
  run_inference = 0;
  run_error = ERROR_NONE;
  run_error_detail = 0;
  run_state = RUN_READY;
  times_keep_clock = false;
}

void run_stop(void) { run_state = RUN_STOPPED; }

#if !RUN_IS_STEPWISE
/* Interrupts are masked: one that comes before WFI stays pending and ends it at once, so that none is missed. It is
 * served between the unlock and the next test.
 */
static bool sleep_unless(bool (*is_over)(const void *), const void *what) {
  uint32_t lock = interrupts_lock();
  bool may_sleep = !has_changed && !run_has_ended() && !is_over(what);
  if (may_sleep) ticker_sleep();
  interrupts_unlock(lock);
  __ISB();
  return may_sleep;
}

/* Every byte of the host wakes the core: it sleeps again at once, for a millisecond at most. */
static void sleep_until_change(bool (*is_over)(const void *), const void *what) {
  uint32_t start = ticker_ms;
  while (ticker_ms == start && sleep_unless(is_over, what)) continue;
}

/* Once a millisecond: the ticker interrupts every wait, so a wait that does not come here hangs. */
static void keep_alive(void) {
  static uint32_t seen;
  if (ticker_ms == seen) return;
  seen = ticker_ms;
  watchdog_refresh();
}

bool run_needs_ticker(void) { return is_waiting || network_has_long_layers; }

void run_look_again(void) { has_changed = true; }

bool run_is_waiting(void) { return is_waiting; }

static void leave_rest(void) {
  if (run_state != RUN_READY) return;
  run_state = RUN_RUNNING;
  if (!run_keeps_times) times_clear();
}

static __attribute__((noinline)) bool do_tasks(void) {
  bool may_sleep = true;
  for (const run_task_t *task = __start_run_tasks; task != __stop_run_tasks; task++) {
    may_sleep &= (*task)();
  }
  return may_sleep;
}

bool run_wait(bool (*is_over)(const void *), const void *what) {
  is_waiting = true;
  ticker_start();
  while (!run_has_ended() && !is_over(what)) {
    has_changed = false;
    bool may_sleep = do_tasks();
    keep_alive();
    if (may_sleep) sleep_until_change(is_over, what);
  }
  is_waiting = false;
  if (run_has_ended()) return false;
  leave_rest();
  return true;
}
#endif
