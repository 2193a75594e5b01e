#include "steps.h"

#include "interrupts.h"
#include "network.h"
#include "run.h"
#include "schedule.h"
#include "standalone.h"
#include "ticker.h"
#include "times.h"
#include "transfers.h"

#define MOST_RUN 0x3FFFFFFFu /* of the first run: far from where numbers wrap around */

enum { RESTART_MS = 10 };

volatile bool times_keep_clock;
volatile uint32_t times_link_ticks;
uint64_t schedule_excluded_ticks;
uint32_t steps_inferences;

static const steps_events_t *events;
static uint32_t boot;
static uint32_t stopped_ms;
static uint16_t position; /* of the next step */

void steps_begin(const steps_events_t *own, uint32_t seed) {
  events = own;
  boot = seed;
  transfers_begin();
}

uint32_t standalone_boot_count(void) { return boot; }

/* Runs */

static void begin(uint32_t number) {
  network_begin_run();
  position = 0;
  uint32_t lock = interrupts_lock();
  transfers_join(number);
  run_take_failure(); /* of the run before */
  run_begin(number);
  interrupts_unlock(lock);
}

static void stop(void) {
  run_stop();
  transfers_leave();
  transfers_announce();
  stopped_ms = ticker_ms;
}

/* The failure of a run that a newer one has ended does not matter any more. */
static void change_run(void) {
  uint32_t lock = interrupts_lock();
  bool has_failed = run_take_failure();
  uint32_t joined = run_take_join();
  interrupts_unlock(lock);
  if (has_failed) events->failure(run_error, run_error_detail);
  if (joined && joined != run_number) {
    begin(joined);
  } else if (has_failed) {
    stop();
  }
}

/* In no run: boards without an input wait for a neighbour to begin one. */
static steps_progress_t rest(void) {
  bool has_rested = run_number == 0 || ticker_ms - stopped_ms >= RESTART_MS;
  if (network_input.bytes == 0 || !has_rested) return STEPS_WAIT;
  uint32_t next = (run_number ? run_number : boot & MOST_RUN) + 1u;
  begin(next ? next : 1u);
  return STEPS_GO_ON;
}

/* Steps */

static bool are_joined(const void *unused) {
  (void)unused;
  return transfers_are_joined();
}

static bool take_input(void) { return run_wait(are_joined, 0) && events->input(network_arena + network_input.offset); }

static bool give_output(void) {
  events->output(network_arena + network_output.offset);
  return true;
}

static bool take(const network_step_t *step) {
  switch (step->kind) {
    case NETWORK_RUN: step->what.run(); return true;
    case NETWORK_INPUT: return take_input();
    case NETWORK_OUTPUT: return give_output();
    default: return step->what.transfer->take(step->what.transfer);
  }
}

/* A layer may have been left early, as the run has ended. */
steps_progress_t steps_go_on(void) {
  change_run();
  if (run_state == RUN_STOPPED) return rest();
  const network_step_t *step = &network_steps[position];
  bool is_taken = take(step);
  if (run_has_ended()) return STEPS_GO_ON;
  if (!is_taken) return STEPS_WAIT;
  position++;
  if (position < network_step_count) return step->kind == NETWORK_RUN ? STEPS_HAVE_RUN : STEPS_GO_ON;
  position = 0;
  run_inference++;
  run_state = RUN_READY;
  steps_inferences++;
  return STEPS_HAVE_RUN;
}
