#include "mlperf_infer.h"

#include "board.h"
#include "clock.h"
#include "cycle_counter.h"
#include "error_codes.h"
#include "exchange.h"
#include "frames.h"
#include "interrupts.h"
#include "mlperf_events.h"
#include "mlperf_results.h"
#include "network.h"
#include "run.h"
#include "text_out.h"
#include "ticker.h"

enum { HZ_PER_MHZ = 1000000, MOST_TRIES = 5, RUNS_AHEAD = 1 << 24 };

typedef enum { IDLE, WARMING, MEASURING } phase_t;

static volatile phase_t phase;
static uint32_t warm_ups_left;
static uint32_t left;
static uint32_t input_crc;
static bool is_run_asked;   /* of the schedule, which has not begun it yet */
static bool is_run_spoilt;  /* an inference of it was given up */
static bool has_done_any;   /* inference of this command */
static uint8_t tries;
static uint32_t newest_run; /* asked for */

/* Time: that of the ticker, which is on while no inference runs, and that of the cycle counter, during which the core
 * never sleeps, while one does. */
static uint32_t start_us;
static uint32_t start_ticker_us;
static uint64_t start_cycles;

uint32_t mlperf_us(void) {
  if (phase == IDLE) return start_us + ticker_us() - start_ticker_us;
  return start_us + (uint32_t)((cycle_counter_now() - start_cycles) / (cycle_counter_hz(clock_core_hz) / HZ_PER_MHZ));
}

static void enter(phase_t next) {
  uint32_t now_us = mlperf_us();
  start_us = now_us;
  phase = next;
  if (next == IDLE) {
    ticker_start();
    start_ticker_us = ticker_us();
  } else {
    start_cycles = cycle_counter_now();
  }
}

static void send_time(void) {
  text_out("m-lap-us-");
  text_out_number(mlperf_us());
  text_out("\r\n");
}

/* Runs: one lasts until something fails. */

static bool is_newer(uint32_t run, uint32_t than) { return (int32_t)(run - than) > 0; }

static void begin_run(uint32_t ahead) {
  if (is_newer(run_number, newest_run)) newest_run = run_number;
  newest_run += ahead;
  if (newest_run == 0) newest_run = 1;
  is_run_asked = true;
  is_run_spoilt = false;
  run_request(&(run_request_t){.type = FRAME_RESET, .run = newest_run});
}

/* Inferences */

static void begin_inference(void) {
  const uint8_t *unused;
  exchange_read(exchange_outputs_done, 0, 0, &unused); /* frees the output before */
  exchange_start(exchange_inputs_taken, input_crc, 1);
}

static void begin_measuring(void) {
  enter(MEASURING);
  text_out("m-warmup-done\r\nm-infer-start-");
  text_out_number(left);
  text_out("\r\n");
  send_time();
}

static void begin_inferences(void) {
  if (warm_ups_left == 0) begin_measuring();
  begin_inference();
}

void mlperf_infer(uint32_t count, uint32_t warm_ups, uint32_t crc) {
  left = count;
  warm_ups_left = warm_ups;
  input_crc = crc;
  has_done_any = false;
  tries = 0;
  enter(WARMING);
  text_out("m-warmup-start-");
  text_out_number(warm_ups);
  text_out("\r\n");
  if (is_run_asked) return;
  if (is_run_spoilt || run_state == RUN_STOPPED || run_has_ended()) {
    begin_run(1);
  } else {
    begin_inferences();
  }
}

bool mlperf_is_inferring(void) { return phase != IDLE; }

void mlperf_infer_cancel(void) {
  enter(IDLE);
  is_run_spoilt = true;
}

static void end(void) {
  send_time();
  enter(IDLE);
  text_out("m-infer-done\r\n");
  mlperf_results_send();
  text_out("m-ready\r\n");
}

static __attribute__((noinline)) void fail(uint8_t code, uint32_t detail) {
  mlperf_infer_cancel();
  mlperf_send_error(code, detail);
  text_out("m-ready\r\n");
}

/* Events of the modules below */

static void on_done(void) {
  if (phase == IDLE) return;
  has_done_any = true;
  if (phase == WARMING) {
    warm_ups_left--;
    begin_inferences();
  } else if (--left) {
    begin_inference();
  } else {
    end();
  }
  uart_host_wake(&board_host_uart);
}

static void on_corrupt(uint32_t number) {
  uint32_t lock = interrupts_lock();
  if (phase != IDLE) fail(ERROR_INPUT_CORRUPT, number);
  uart_host_wake(&board_host_uart);
  interrupts_unlock(lock);
}

static void on_obeyed(uint8_t code, uint32_t detail) {
  uint32_t lock = interrupts_lock();
  is_run_asked = false;
  if (phase != IDLE && code) fail(code, detail);
  if (phase != IDLE) begin_inferences();
  uart_host_wake(&board_host_uart);
  interrupts_unlock(lock);
}

/* Whether a neighbour was reset or left behind since the last inference: another run mends that. */
static bool may_mend(uint8_t code) {
  bool is_left_behind =
      code == ERROR_LINK_PEER_STOPPED || code == ERROR_LINK_PEER_RESTARTED || code == ERROR_LINK_OTHER_RUN;
  return is_left_behind && !has_done_any && tries++ < MOST_TRIES;
}

static void on_error(uint8_t code, uint32_t detail) {
  uint32_t lock = interrupts_lock();
  if (phase == IDLE) {
    is_run_spoilt = true;
  } else if (may_mend(code)) {
    enter(WARMING);
    begin_run(code == ERROR_LINK_OTHER_RUN ? RUNS_AHEAD : 1u);
  } else {
    fail(code, detail);
  }
  uart_host_wake(&board_host_uart);
  interrupts_unlock(lock);
}

void mlperf_infer_begin(void) {
  static const mlperf_events_t events = {on_obeyed, on_error, on_corrupt, on_done};
  mlperf_events_begin(&events);
  begin_run(1);
}
