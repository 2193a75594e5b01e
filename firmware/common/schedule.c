#include "schedule.h"

#include "application_calls.h"
#include "cycle_counter.h"
#include "error_codes.h"
#include "exchange.h"
#include "external_memory.h"
#include "flash_check.h"
#include "frames.h"
#include "host_events.h"
#include "interrupts.h"
#include "layer_clock.h"
#include "markers.h"
#include "network.h"
#include "run.h"
#include "stack.h"
#include "standalone.h"
#include "ticker.h"
#include "times.h"
#include "transfers.h"
#include "watchdog.h"
#include "weights_file.h"
#include "weights_key.h"

uint64_t schedule_excluded_ticks;

static volatile bool is_check_wanted;
static volatile uint8_t check_sequence;
static volatile bool is_beginning; /* a run, whose flash is being checked */

/* Steps */

/* The clock itself is read next to the layer, and the time beside it tells how often it has wrapped around. */
static bool run_layer(const network_step_t *step, uint32_t record) {
  schedule_excluded_ticks = 0;
  if (network_has_long_layers) ticker_start();
  uint64_t before = cycle_counter_now();
  uint32_t start = layer_clock_low();
  markers_begin_layer();
  step->what.run();
  markers_end_layer();
  uint32_t ticks = layer_clock_low() - start;
  uint64_t wraps = (cycle_counter_now() - before - ticks) >> 32;
  times_set(record, (wraps << 32 | ticks) - schedule_excluded_ticks, 0);
  return true;
}

static bool take_step(const network_step_t *step, uint32_t record) {
  switch (step->kind) {
    case NETWORK_RUN: return run_layer(step, record);
    case NETWORK_INPUT: return exchange_take_input(record);
    case NETWORK_OUTPUT: return exchange_give_output(record);
    default: return step->what.transfer->take(step->what.transfer);
  }
}

/* Returns what is wrong with the program or its weights, if anything. */
static uint8_t check_program(uint32_t *found) {
  if (!external_memory_check(found)) return ERROR_EXTERNAL_MEMORY;
  if (!flash_check(found)) return ERROR_FLASH_CORRUPT;
  return weights_file_check(found) && weights_key_check(found) ? ERROR_NONE : ERROR_WEIGHTS;
}

static void answer_check(void) {
  if (!is_check_wanted) return;
  is_check_wanted = false;
  uint8_t sequence = check_sequence;
  uint32_t found;
  uint8_t code = check_program(&found);
  if (code) run_fail(code, found);
  host_tell_obeyed(FRAME_CHECK, sequence, code, found);
}

static bool answer_while_waiting(void) {
  answer_check();
  return true;
}

RUN_TASK task = answer_while_waiting;

/* One inference; a command of the host, a neighbour or a failure may end it early. */
static void infer(void) {
  for (uint32_t i = 0; i < network_step_count; i++) {
    watchdog_refresh();
    stack_check();
    answer_check();
    if (run_has_ended() || !take_step(&network_steps[i], i)) return;
    times_note_end(i);
  }
  exchange_end();
  run_inference++;
  run_state = RUN_READY;
}

/* What ends a run */

static void stop(void) {
  run_stop();
  markers_end_transfer();
  transfers_leave();
  if (STANDALONE_IS_BUILT) transfers_announce();
  standalone_note_stop();
}

/* The links join first: neighbours may already wait for an answer. */
static uint8_t begin(uint32_t number, uint32_t *detail) {
  is_beginning = true;
  standalone_note_run(number);
  exchange_reset();
  network_begin_run();
  times_clear();
  uint32_t lock = interrupts_lock();
  transfers_join(number);
  run_take_failure(); /* of the run before */
  run_begin(number);
  interrupts_unlock(lock);
  uint8_t code = check_program(detail);
  if (code) run_fail(code, *detail);
  is_beginning = false;
  return code;
}

bool schedule_is_in(uint32_t run) {
  return run == run_number && run_state != RUN_STOPPED && !is_beginning && !run_has_ended();
}

static void obey(const run_request_t *request) {
  uint32_t detail = request->type;
  uint8_t code = ERROR_NONE;
  if (request->type == FRAME_STOP) {
    stop();
  } else if (request->run != run_number) {
    code = begin(request->run, &detail);
  } else if (run_state == RUN_STOPPED || standalone_is_own()) {
    code = ERROR_BUSY;
  }
  if (code != ERROR_BUSY) standalone_yield();
  host_tell_obeyed(request->type, request->sequence, code, detail);
}

/* The failure of a run that a newer one has ended does not matter any more. */
static void change_run(void) {
  run_request_t request;
  uint32_t lock = interrupts_lock();
  bool has_failed = run_take_failure();
  uint32_t joined = run_take_join();
  bool is_asked = run_take_request(&request);
  interrupts_unlock(lock);
  uint32_t unused;
  if (has_failed) {
    standalone_note_failure();
    application_calls_failure();
  }
  if (joined && joined != run_number) {
    begin(joined, &unused);
  } else if (has_failed) {
    stop();
  }
  if (is_asked) obey(&request);
}

/* In no run: with a host, until it or a neighbour begins one. */
static void rest(void) {
  uint32_t unused;
  bool is_due = run_wait(standalone_is_due, 0);
  if (STANDALONE_IS_BUILT && is_due) begin(standalone_next_run(), &unused);
}

_Noreturn void schedule_run(void) {
  for (;;) {
    change_run();
    if (run_state == RUN_STOPPED) {
      rest();
    } else {
      infer();
    }
  }
}

void schedule_check(uint8_t sequence) {
  check_sequence = sequence;
  is_check_wanted = true;
}
