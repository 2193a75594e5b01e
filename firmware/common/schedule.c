#include "schedule.h"

#include "board.h"
#include "cycle_counter.h"
#include "interrupts.h"
#include "network.h"
#include "ticker.h"

volatile uint8_t schedule_state = SCHEDULE_STOPPED;
volatile bool schedule_has_output;
uint32_t schedule_excluded_ticks;

static volatile uint8_t command; /* of the host, 0 for none */
static volatile uint8_t command_sequence;
static volatile uint8_t awaiting_start;
static uint16_t time_index;

bool schedule_start(void) {
  if (schedule_state != SCHEDULE_AT_REST) return false;
  schedule_state = SCHEDULE_RUNNING;
  schedule_has_output = false;
  awaiting_start = 0;
  return true;
}

void schedule_command(uint8_t type, uint8_t sequence) {
  command_sequence = sequence;
  command = type;
}

/* To be called before the host is told, whose next START may come at once. */
static void rest(void) {
  awaiting_start = 1;
  schedule_state = SCHEDULE_AT_REST;
}

/* Sleeps until an interrupt. Interrupts are masked: one that comes before WFI stays pending and ends it at once, so
 * that none is missed. It is served between the unlock and the next test of the flag.
 */
static void sleep_until_interrupt(const volatile uint8_t *flag) {
  uint32_t lock = interrupts_lock();
  if (*flag && !command) {
    __DSB();
    __WFI();
  }
  interrupts_unlock(lock);
  __ISB();
}

/* Waits until an interrupt clears `flag`; false when the host has sent a command. A wait inside a run is measured: it
 * polls a flag in RAM, since sleep stops the cycle counter (DWT) of real parts.
 */
static bool wait_for(const volatile uint8_t *flag, bool is_between_runs) {
  ticker_start();
  while (*flag && !command) {
    if (is_between_runs) sleep_until_interrupt(flag);
  }
  ticker_stop();
  return !command;
}

static void record(uint8_t kind, uint8_t repeats, uint16_t index, uint32_t ticks) {
  if (time_index == network_time_count) return;
  network_times[time_index++] = (network_time_t){.kind = kind, .repeats = repeats, .index = index, .ticks = ticks};
}

static bool receive(const network_step_t *step, bool is_first) {
  link_t *link = &board_links[step->link];
  uint32_t lock = interrupts_lock();
  link_receive(link, (uint8_t)step->index, network_arena + step->offset, step->bytes);
  interrupts_unlock(lock);
  return wait_for(&link->receiving, is_first);
}

static bool run_layer(const network_step_t *step) {
  schedule_excluded_ticks = 0;
  uint32_t start = cycle_counter_now();
  step->run();
  record(NETWORK_TIME_LAYER, 0, step->index, cycle_counter_now() - start - schedule_excluded_ticks);
  return !command;
}

/* Waits until the tensor is acknowledged or the link has failed. `start` is set to the time when the receiver is
 * ready. */
static bool wait_until_sent(const link_t *link, uint32_t *start) {
  while (link->sending) {
    bool is_held = link->held;
    if (!wait_for(is_held ? &link->held : &link->flowing, false)) return false;
    if (is_held) *start = cycle_counter_now();
  }
  return true;
}

static bool send(const network_step_t *step) {
  link_t *link = &board_links[step->link];
  uint32_t start = cycle_counter_now();
  uint32_t lock = interrupts_lock();
  link_send(link, (uint8_t)step->index, network_arena + step->offset, step->bytes);
  interrupts_unlock(lock);
  if (!wait_until_sent(link, &start)) return false;
  record(NETWORK_TIME_TRANSFER, link->repeats, step->index, cycle_counter_now() - start);
  if (!link->failed) return true;
  schedule_state = SCHEDULE_STOPPED;
  schedule_on_link_timeout(step->index);
  return false;
}

static bool take_step(const network_step_t *step) {
  switch (step->kind) {
    case NETWORK_RECEIVE: return receive(step, false);
    case NETWORK_RUN: return run_layer(step);
    default: return send(step);
  }
}

/* A board that reads the network's input waits for START, any other one for its first tensor. */
static bool await_begin(void) {
  return network_input_bytes > 0 ? wait_for(&awaiting_start, true) : receive(&network_steps[0], true);
}

/* One inference; an error or a command of the host ends it early. */
static void run_once(void) {
  time_index = 0;
  if (!await_begin()) return;
  schedule_state = SCHEDULE_RUNNING;
  schedule_has_output = false;
  for (uint16_t i = network_input_bytes > 0 ? 0 : 1; i < network_step_count; i++) {
    if (!take_step(&network_steps[i])) return;
  }
  bool is_last = network_output_bytes > 0;
  schedule_has_output = is_last;
  rest();
  if (is_last) schedule_on_done();
}

static void forget_everything(void) {
  for (uint8_t i = 0; i < board_link_count; i++) {
    link_reset(&board_links[i]);
    board_link_uarts[i].line_errors = 0;
  }
  board_host_uart.line_errors = 0;
  for (uint16_t i = 0; i < network_time_count; i++) network_times[i] = (network_time_t){0};
  schedule_has_output = false;
}

static void obey_command(void) {
  if (!command) return;
  uint32_t lock = interrupts_lock();
  uint8_t type = command;
  uint8_t sequence = command_sequence;
  command = 0;
  forget_everything();
  schedule_state = SCHEDULE_STOPPED;
  if (type == FRAME_RESET) rest();
  interrupts_unlock(lock);
  schedule_on_command(type, sequence);
}

_Noreturn void schedule_run(void) {
  static const volatile uint8_t always = 1;
  for (;;) {
    obey_command();
    if (schedule_state == SCHEDULE_STOPPED) {
      wait_for(&always, true);
    } else {
      run_once();
    }
  }
}
