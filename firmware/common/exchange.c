#include "exchange.h"

#include "application_calls.h"
#include "crc32.h"
#include "cycle_counter.h"
#include "error_codes.h"
#include "host_events.h"
#include "interrupts.h"
#include "own_input.h"
#include "run.h"
#include "standalone.h"
#include "times.h"
#include "words.h"

volatile uint32_t exchange_inputs_taken;
volatile uint32_t exchange_outputs_done;
uint32_t exchange_output_crc;

static volatile bool is_started; /* the input is in its buffer, and stays there until it is taken */
static volatile uint32_t newest_start; /* number of the input that was started last */
static volatile uint32_t repeats; /* further inferences of the same input */
static volatile uint32_t input_crc;
static volatile bool is_full; /* the output waits for the host */

enum { PART_BYTES = 64 }; /* that are checked before the board looks at what it waits for */

/* What has come of the input, in order from its first byte. Its CRC is brought forward while the board waits for the
 * rest, so that an inference does not begin with it. */
static volatile uint32_t loaded_bytes;
static volatile uint32_t restarts; /* how often loading has begun again */
static uint32_t checked_bytes;
static uint32_t checked_crc;
static uint32_t checked_restarts; /* since when those are right */
static bool awaits_input;

static void restart_loading(void) {
  loaded_bytes = 0;
  restarts++;
}

void exchange_reset(void) {
  restart_loading();
  exchange_inputs_taken = 0;
  exchange_outputs_done = 0;
  exchange_output_crc = 0;
  is_started = false;
  newest_start = UINT32_MAX;
  repeats = 0;
  is_full = false;
  if (STANDALONE_IS_BUILT) own_input_reset();
}

/* Input */

static bool input_is_there(const void *unused) {
  (void)unused;
  return is_started;
}

static uint8_t *input_stage(void) { return network_arena + network_input.stage; }

static void check_part(uint32_t count) {
  checked_crc = crc32(checked_crc, input_stage() + checked_bytes, count);
  checked_bytes += count;
}

static void forget_what_is_replaced(void) {
  if (checked_restarts == restarts) return;
  checked_restarts = restarts;
  checked_bytes = 0;
  checked_crc = 0;
}

/* While the board waits: checks what has come of the input. */
static bool check_ahead(void) {
  if (!awaits_input) return true;
  forget_what_is_replaced();
  uint32_t count = loaded_bytes - checked_bytes;
  if (count == 0 || count > network_input.bytes) return true; /* the second: replaced in between */
  check_part(count < PART_BYTES ? count : PART_BYTES);
  return false;
}

RUN_TASK task = check_ahead;

static bool input_is_good(void) {
  forget_what_is_replaced();
  check_part(network_input.bytes - checked_bytes);
  return checked_crc == input_crc;
}

static bool wait_for_input(void) {
  awaits_input = true;
  bool is_there = run_wait(input_is_there, 0);
  awaits_input = false;
  return is_there;
}

static void free_input(void) {
  uint32_t lock = interrupts_lock();
  uint32_t number = exchange_inputs_taken;
  exchange_inputs_taken = number + 1u;
  if (repeats) {
    repeats--;
  } else {
    restart_loading();
    is_started = false;
  }
  host_tell_taken(number);
  interrupts_unlock(lock);
}

static bool take_own_input(void) {
  if (!own_input_take()) return false;
  exchange_inputs_taken++;
  return true;
}

bool exchange_take_input(uint32_t record) {
  if (standalone_is_own()) return take_own_input();
  uint8_t *arena = network_arena + network_input.offset;
  bool is_good = false;
  while (!is_good) {
    if (!wait_for_input()) return false;
    uint64_t start = cycle_counter_now();
    is_good = input_is_good();
    if (network_is_staged(&network_input)) words_copy(arena, input_stage(), network_input.bytes);
    times_set(record, cycle_counter_now() - start, 0);
    if (!is_good) {
      restart_loading();
      is_started = false;
      host_tell_corrupt(exchange_inputs_taken);
    }
  }
  if (network_is_staged(&network_input)) free_input();
  return true;
}

void exchange_end(void) {
  if (standalone_is_own()) return;
  if (network_input.bytes && !network_is_staged(&network_input)) free_input();
}

/* Whether `number` is the input that may be written now. */
static uint8_t check_input(uint32_t number) {
  uint32_t next = exchange_inputs_taken;
  if (network_input.bytes == 0) return ERROR_NOT_FIRST;
  if (run_state == RUN_STOPPED || standalone_is_own()) return ERROR_STOPPED;
  if (number == next && !is_started) return ERROR_NONE;
  return number == next || (number == next + 1u && is_started) ? ERROR_BUSY : ERROR_WRONG_NUMBER;
}

uint8_t exchange_load(uint32_t number, uint32_t offset, uint32_t length, uint8_t **to) {
  uint8_t error = check_input(number);
  if (error) return error;
  if (offset > network_input.bytes || length > network_input.bytes - offset) return ERROR_BAD_RANGE;
  if (offset != loaded_bytes) restart_loading();
  *to = input_stage() + offset;
  return ERROR_NONE;
}

void exchange_loaded(uint32_t offset, uint32_t length) {
  if (offset == loaded_bytes) loaded_bytes += length;
  run_look_again(); /* the CRC can be brought forward */
}

uint8_t exchange_start(uint32_t number, uint32_t crc, uint32_t count) {
  uint8_t error = check_input(number);
  bool is_asked_again = number == newest_start && (error == ERROR_BUSY || error == ERROR_WRONG_NUMBER);
  if (is_asked_again) return ERROR_NONE;
  if (error) return error;
  if (count == 0 || (count > 1 && !network_is_staged(&network_input))) return ERROR_BAD_RANGE;
  input_crc = crc;
  newest_start = number;
  repeats = count - 1u;
  is_started = true;
  return ERROR_NONE;
}

/* Output */

static void fill_output(uint32_t crc) {
  uint32_t lock = interrupts_lock();
  uint32_t number = exchange_outputs_done;
  exchange_output_crc = crc;
  exchange_outputs_done = number + 1u;
  is_full = true;
  host_tell_done(number, crc);
  interrupts_unlock(lock);
}

static bool output_is_free(const void *unused) {
  (void)unused;
  return !is_full;
}

/* The application has it in the arena. */
static bool give_own_output(void) {
  application_calls_output(network_arena + network_output.offset);
  exchange_outputs_done++;
  standalone_note_output();
  return true;
}

bool exchange_give_output(uint32_t record) {
  if (standalone_is_own()) return give_own_output();
  uint8_t *stage = network_arena + network_output.stage;
  if (!run_wait(output_is_free, 0)) return false;
  uint64_t start = cycle_counter_now();
  if (network_is_staged(&network_output)) {
    words_copy(stage, network_arena + network_output.offset, network_output.bytes);
  }
  uint32_t crc = crc32(0, stage, network_output.bytes);
  times_set(record, cycle_counter_now() - start, 0);
  fill_output(crc);
  application_calls_output(stage);
  return network_is_staged(&network_output) || run_wait(output_is_free, 0);
}

uint8_t exchange_read(uint32_t number, uint32_t offset, uint32_t length, const uint8_t **from) {
  uint32_t next = exchange_outputs_done;
  if (offset > network_output.bytes || length > network_output.bytes - offset) return ERROR_BAD_RANGE;
  if (number == next) is_full = false;
  *from = network_arena + network_output.stage + offset;
  if (length == 0) return ERROR_NONE;
  if (number == next) return run_state == RUN_STOPPED ? ERROR_STOPPED : ERROR_BUSY;
  return number + 1u == next && is_full ? ERROR_NONE : ERROR_WRONG_NUMBER;
}
