#include "standalone.h"

#include "crc32.h"
#include "network.h"
#include "run.h"
#include "ticker.h"

/* Nothing in this file runs for each byte: its size counts. */
#pragma GCC optimize("Os")

#define MOST_RUN 0x3FFFFFFFu /* of the first run: far from where numbers wrap around */

enum { SAMPLED_BYTES = 1024 };

extern const uint8_t _arena_start[], _arena_end[]; /* of the linker script */

standalone_counters_t standalone_counters;

/* Of the power-up, which nobody clears. A count alone would begin with 1 again after each power cut. */
static uint32_t power_up __attribute__((section(".noinit")));

static uint32_t own_run;             /* that was begun here last */
static volatile bool is_hosts;       /* the host has begun the run, or has ended it */
static volatile uint32_t heard_ms;   /* when the host has asked last */
static volatile uint32_t patience_ms; /* for which it may ask nothing */
static uint32_t stopped_ms;

/* RAM holds random bits when power comes, of which some differ each time. */
void standalone_begin(void) {
  if (reset_count > 1) return;
  uint32_t bytes = (uint32_t)(_arena_end - _arena_start);
  power_up = crc32(power_up, _arena_start, bytes < SAMPLED_BYTES ? bytes : SAMPLED_BYTES);
}

uint32_t standalone_boot_count(void) { return power_up + reset_count; }

bool standalone_is_own(void) { return !is_hosts; }

#ifdef STOP_MODE
bool standalone_host_is_quiet(void) { return ticker_ms - heard_ms > STANDALONE_WATCH_MS; }
#endif

static bool begins_runs(void) { return network_input.bytes > 0; }

/* `heard_ms` is read first: interrupts change both, and it is never the later one. */
static bool host_is_silent(void) {
  uint32_t heard = heard_ms;
  return ticker_ms - heard > patience_ms;
}

bool standalone_is_due(const void *unused) {
  (void)unused;
  bool has_rested = run_number == 0 || ticker_ms - stopped_ms >= STANDALONE_RESTART_MS;
  return begins_runs() && has_rested && (!is_hosts || host_is_silent());
}

/* Boards follow any number but that of a run that they were in: see link_peer.c. */
uint32_t standalone_next_run(void) {
  own_run = (run_number ? run_number : standalone_boot_count() & MOST_RUN) + 1u;
  if (own_run == 0) own_run = 1;
  return own_run;
}

/* While the board waits in a run of the host: it may be gone. */
static bool end_host(void) {
  if (is_hosts && begins_runs() && run_state != RUN_STOPPED && host_is_silent()) run_join(standalone_next_run());
  return true;
}

RUN_TASK task = end_host;

void standalone_note_run(uint32_t run) {
  is_hosts = begins_runs() && run != own_run;
  run_keeps_times = !is_hosts;
  heard_ms = ticker_ms;
  patience_ms = STANDALONE_JOIN_MS;
  standalone_counters.runs++;
}

void standalone_note_failure(void) {
  standalone_counters.failures++;
  standalone_counters.failure = run_error;
  standalone_counters.failure_detail = run_error_detail;
}

void standalone_note_output(void) { standalone_counters.outputs++; }

void standalone_note_stop(void) { stopped_ms = ticker_ms; }

void standalone_yield(void) {
  is_hosts = true;
  patience_ms = STANDALONE_HOST_MS;
  standalone_note_host();
}

void standalone_note_host(void) { heard_ms = ticker_ms; }
