#include "schedule.h"

#include "board.h"
#include "cycle_counter.h"
#include "host.h"
#include "interrupts.h"
#include "network.h"
#include "ticker.h"

volatile uint8_t schedule_state = SCHEDULE_STOPPED;
volatile bool schedule_has_output;

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

/* Ready for the next run before the host hears of it: its START may come at once. */
static void rest(void) {
  awaiting_start = 1;
  schedule_state = SCHEDULE_AT_REST;
}

/* Waits until an interrupt clears `flag`; false when the host wants something else. The loop only reads RAM, and no
 * WFI is in it, for that stops the cycle counter of real parts.
 */
static bool wait_for(const volatile uint8_t *flag) {
  ticker_start();
  while (*flag && !command) {
  }
  ticker_stop();
  return !command;
}

static void record(uint8_t kind, uint8_t repeats, uint16_t index, uint32_t ticks) {
  if (time_index == network_time_count) return;
  network_times[time_index++] = (network_time_t){.kind = kind, .repeats = repeats, .index = index, .ticks = ticks};
}

static bool await_input(const network_sub_model_t *sub_model) {
  if (sub_model->source == NETWORK_HOST) return wait_for(&awaiting_start);
  link_t *link = &board_links[sub_model->source];
  uint32_t lock = interrupts_lock();
  link_receive(link, sub_model->source_cut, network_arena + sub_model->input_offset, sub_model->input_bytes);
  interrupts_unlock(lock);
  return wait_for(&link->receiving);
}

static bool run_layers(const network_sub_model_t *sub_model) {
  for (uint16_t i = 0; i < sub_model->layer_count; i++) {
    const network_layer_t *layer = &sub_model->layers[i];
    uint32_t start = cycle_counter_now();
    layer->run(network_arena + layer->input_offset, network_arena + layer->output_offset);
    record(NETWORK_TIME_LAYER, 0, layer->number, cycle_counter_now() - start);
    if (command) return false;
  }
  return true;
}

static bool send_output(const network_sub_model_t *sub_model) {
  link_t *link = &board_links[sub_model->destination];
  uint32_t start = cycle_counter_now();
  uint32_t lock = interrupts_lock();
  link_send(link, sub_model->destination_cut, network_arena + sub_model->output_offset, sub_model->output_bytes);
  interrupts_unlock(lock);
  if (!wait_for(&link->sending)) return false;
  record(NETWORK_TIME_TRANSFER, link->repeats, sub_model->destination_cut, cycle_counter_now() - start);
  if (!link->failed) return true;
  schedule_state = SCHEDULE_STOPPED;
  host_send_error(HOST_LINK_TIMEOUT, sub_model->destination_cut);
  return false;
}

static bool run_sub_model(const network_sub_model_t *sub_model) {
  if (!await_input(sub_model)) return false;
  schedule_state = SCHEDULE_RUNNING;
  schedule_has_output = false;
  if (!run_layers(sub_model)) return false;
  return sub_model->destination == NETWORK_HOST || send_output(sub_model);
}

/* All steps once; an error or the host's command ends them early. */
static void run_once(void) {
  time_index = 0;
  for (uint8_t i = 0; i < network_sub_model_count; i++) {
    if (!run_sub_model(&network_sub_models[i])) return;
  }
  bool is_last = network_output_bytes > 0;
  schedule_has_output = is_last;
  rest();
  if (is_last) host_send_done();
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
  host_send_reply(type, sequence);
}

_Noreturn void schedule_run(void) {
  static const volatile uint8_t always = 1;
  for (;;) {
    obey_command();
    if (schedule_state == SCHEDULE_STOPPED) {
      wait_for(&always);
    } else {
      run_once();
    }
  }
}
