#include "host.h"

#include <string.h>

#include "board.h"
#include "clock.h"
#include "cycle_counter.h"
#include "error_codes.h"
#include "exchange.h"
#include "frames.h"
#include "host_diagnostics.h"
#include "host_send.h"
#include "interrupts.h"
#include "network.h"
#include "reset.h"
#include "run.h"
#include "schedule.h"
#include "ticker.h"
#include "transfers.h"
#include "weights_file.h"
#include "weights_key.h"
#include "weights_update.h"

/* What IDENTIFY asks for. */
enum { IDENTIFY_STATE, IDENTIFY_NOTE, IDENTIFY_STACK, IDENTIFY_WEIGHTS, IDENTIFY_STAGING };

enum {
  PROTOCOL_VERSION = 2,
  IDENTITY_WORDS = 15,
  REQUEST_BYTES = 10, /* without the data of LOAD, which goes to its place at once */
  LARGEST_OUTPUT_PART = FRAME_MAX_PAYLOAD,
  REBOOT_MS = 10 /* for the reply to leave */
};

static frame_receiver_t receiver;
static uint8_t request[REQUEST_BYTES];
static uint8_t load_error; /* of the LOAD or the part of weights that is being received */
static uint32_t identity[IDENTITY_WORDS];
static volatile uint8_t reboot_ms; /* until the board resets itself; 0: not at all */

static void refuse(const frame_header_t *header, uint8_t code) {
  host_send_error(header->sequence, code, header->type);
}

/* Replies to what was asked for, or says why it was not done. */
static void answer(const frame_header_t *header, uint8_t code, uint32_t detail) {
  if (code) {
    host_send_error(header->sequence, code, detail);
  } else {
    host_send_reply(header, NULL, 0);
  }
}

/* Events of the modules below */

void schedule_on_obeyed(uint8_t type, uint8_t sequence, uint8_t code, uint32_t detail) {
  frame_header_t to = {.type = type, .sequence = sequence};
  answer(&to, code, detail);
}

void weights_update_on_done(uint8_t type, uint8_t sequence, uint8_t code, uint32_t detail) {
  schedule_on_obeyed(type, sequence, code, detail);
}

void weights_key_on_done(uint8_t sequence, uint8_t code, uint32_t detail) {
  schedule_on_obeyed(FRAME_KEY, sequence, code, detail);
}

void run_on_error(uint8_t code, uint32_t detail) { host_send_error(HOST_EVENT_SEQUENCE, code, detail); }

void exchange_on_corrupt(uint32_t number) { host_send_error(HOST_EVENT_SEQUENCE, ERROR_INPUT_CORRUPT, number); }

void exchange_on_done(uint32_t number, uint32_t crc) {
  host_frame_t outgoing = host_two_words(FRAME_DONE, HOST_EVENT_SEQUENCE, number, crc);
  host_send(&outgoing);
}

void exchange_on_taken(uint32_t number) {
  host_frame_t outgoing = host_two_words(FRAME_TAKEN, HOST_EVENT_SEQUENCE, number, 0);
  outgoing.header.length = sizeof number;
  host_send(&outgoing);
}

/* Requests */

static uint32_t bytes_to_word(uint32_t first, uint32_t second, uint32_t third, uint32_t fourth) {
  return first | second << 8 | third << 16 | fourth << 24;
}

static void send_identity(const frame_header_t *header) {
  uint32_t link_errors = transfers_line_errors();
  uint32_t line_errors = board_host_uart.uart.line_errors + link_errors;
  if (line_errors > UINT8_MAX) line_errors = UINT8_MAX;
  uint32_t *word = identity;
  *word++ = bytes_to_word(PROTOCOL_VERSION, network_board_index, clock_ok, line_errors);
  *word++ = network_project_hash;
  *word++ = clock_core_hz;
  *word++ = cycle_counter_hz(clock_core_hz);
  *word++ = network_input.bytes;
  *word++ = network_output.bytes;
  *word++ = bytes_to_word(run_state, reset_cause, transfers_driver(), run_error);
  *word++ = reset_count;
  *word++ = run_number;
  *word++ = exchange_inputs_taken;
  *word++ = exchange_outputs_done;
  *word++ = exchange_output_crc;
  *word++ = transfers_repeats();
  *word++ = link_errors;
  *word++ = run_error_detail;
  host_send_reply(header, identity, sizeof identity);
}

static void send_weights(const frame_header_t *to) {
  if (!weights_file_identify) {
    refuse(to, ERROR_BAD_RANGE);
    return;
  }
  uint32_t crc, counter;
  weights_file_identify(&crc, &counter);
  host_frame_t outgoing = host_two_words(to->type | FRAME_REPLY, to->sequence, crc, counter);
  host_send(&outgoing);
}

static void send_staging(const frame_header_t *to) {
  if (!weights_update_staging_bytes) {
    refuse(to, ERROR_BAD_RANGE);
    return;
  }
  host_frame_t outgoing =
      host_two_words(to->type | FRAME_REPLY, to->sequence, weights_update_staging_bytes(), WEIGHTS_PART_BYTES);
  host_send(&outgoing);
}

static void identify(const frame_header_t *header) {
  uint8_t what = header->length ? request[0] : (uint8_t)IDENTIFY_STATE;
  switch (what) {
    case IDENTIFY_STATE: send_identity(header); break;
    case IDENTIFY_NOTE: host_send_reply(header, network_note, network_note_bytes); break;
    case IDENTIFY_STACK:
      if (host_diagnostics_send_stack) {
        host_diagnostics_send_stack(header);
      } else {
        refuse(header, ERROR_BAD_RANGE);
      }
      break;
    case IDENTIFY_WEIGHTS: send_weights(header); break;
    case IDENTIFY_STAGING: send_staging(header); break;
    default: refuse(header, ERROR_BAD_RANGE);
  }
}

static void command(const frame_header_t *header) {
  run_request_t command = {.type = header->type, .sequence = header->sequence};
  if (header->type == FRAME_RESET) {
    command.run = frame_u32(request);
    if (command.run == 0) {
      refuse(header, ERROR_BAD_RANGE);
      return;
    }
    if (schedule_is_in(command.run)) { /* repeated: an inference may be under way */
      host_send_reply(header, NULL, 0);
      return;
    }
  }
  run_request(&command);
}

/* What an inference's number does not fit is answered with the number that does. */
static void answer_exchange(const frame_header_t *header, uint8_t code, uint32_t number) {
  answer(header, code, code == ERROR_WRONG_NUMBER ? number : header->type);
}

static void load(const frame_header_t *header) {
  if (!load_error) exchange_loaded(frame_u32(request + 4), header->length - (uint32_t)FRAME_HEAD_BYTES);
  answer_exchange(header, load_error, exchange_inputs_taken);
}

static void start(const frame_header_t *header) {
  answer_exchange(header, exchange_start(frame_u32(request), frame_u32(request + 4)), exchange_inputs_taken);
}

static void read_output(const frame_header_t *header) {
  const uint8_t *from;
  uint32_t length = frame_u16(request + 8);
  uint8_t code = length > LARGEST_OUTPUT_PART
                     ? ERROR_BAD_RANGE
                     : exchange_read(frame_u32(request), frame_u32(request + 4), length, &from);
  if (code) {
    answer_exchange(header, code, exchange_outputs_done);
  } else {
    host_send_reply(header, from, length);
  }
}

static void reboot(const frame_header_t *header) {
  host_send_reply(header, NULL, 0);
  reboot_ms = REBOOT_MS;
  ticker_start();
}

/* The board replies when it has executed the request. */
static void update(const frame_header_t *header) {
  bool has_bytes = header->type != FRAME_COMMIT_WEIGHTS;
  uint32_t bytes = has_bytes ? header->length - (uint32_t)FRAME_HEAD_BYTES : 0;
  if (load_error) {
    refuse(header, load_error);
  } else if (header->type == FRAME_KEY) {
    weights_key_request(header->sequence, bytes);
  } else {
    uint32_t value = has_bytes ? frame_u32(request) : 0;
    if (!weights_update_request(header->type, header->sequence, value, bytes)) refuse(header, ERROR_BUSY);
  }
}

static void obey(const frame_header_t *header) {
  switch (header->type) {
    case FRAME_IDENTIFY: identify(header); break;
    case FRAME_RESET:
    case FRAME_STOP: command(header); break;
    case FRAME_LOAD: load(header); break;
    case FRAME_START: start(header); break;
    case FRAME_READ_OUTPUT: read_output(header); break;
    case FRAME_CHECK: schedule_check(header->sequence); break;
    case FRAME_READ_TIMES:
    case FRAME_READ_CLOCK:
    case FRAME_READ_STAMPS:
      if (!host_diagnostics_obey(header, request)) refuse(header, ERROR_BAD_RANGE);
      break;
    case FRAME_REBOOT: reboot(header); break;
    default: update(header);
  }
}

/* Receiving */

static bool is_known(uint8_t type) {
  if (type == FRAME_KEY) return weights_key_request;
  if (type >= FRAME_BEGIN_WEIGHTS) return type <= FRAME_COMMIT_WEIGHTS && weights_update_request;
  if (type == FRAME_READ_TIMES || type >= FRAME_READ_CLOCK) return host_diagnostics_obey;
  return type >= FRAME_IDENTIFY;
}

/* Behind FRAME_HEAD_BYTES. */
static bool has_data(const frame_header_t *header) {
  switch (header->type) {
    case FRAME_LOAD:
    case FRAME_BEGIN_WEIGHTS:
    case FRAME_WRITE_WEIGHTS:
    case FRAME_KEY: return true;
    default: return false;
  }
}

static __attribute__((noinline)) bool has_right_length(const frame_header_t *header) {
  static const uint8_t lengths[] = {[FRAME_RESET] = 4,       [FRAME_START] = 8,      [FRAME_READ_OUTPUT] = 10,
                                    [FRAME_READ_TIMES] = 2,  [FRAME_READ_CLOCK] = 1, [FRAME_READ_STAMPS] = 3,
                                    [FRAME_COMMIT_WEIGHTS] = 0};
  if (has_data(header)) return header->length >= FRAME_HEAD_BYTES;
  if (header->type == FRAME_IDENTIFY) return header->length <= 1;
  return is_known(header->type) && header->length == lengths[header->type];
}

static uint8_t *begin_request(void *owner, const frame_header_t *header) {
  (void)owner;
  if (!has_right_length(header)) return NULL;
  load_error = ERROR_NONE;
  return request;
}

/* Data are written to their place before the CRC of their frame is known. That does no harm: START and COMMIT_WEIGHTS
 * have a CRC of them all. */
static uint8_t *find_place(const frame_header_t *header) {
  uint8_t *to = NULL;
  uint32_t bytes = header->length - (uint32_t)FRAME_HEAD_BYTES;
  if (header->type != FRAME_LOAD) {
    bool is_key = header->type == FRAME_KEY;
    if (is_known(header->type)) to = is_key ? weights_key_place(bytes) : weights_update_place(bytes);
    bool has_length = is_key ? weights_key_has_length(bytes) : bytes <= WEIGHTS_PART_BYTES;
    load_error = to ? ERROR_NONE : has_length ? ERROR_BUSY : ERROR_BAD_LENGTH;
    return to;
  }
  load_error = exchange_load(frame_u32(request), frame_u32(request + 4), bytes, &to);
  return to;
}

static uint8_t *go_on(void *owner, const frame_header_t *header) {
  (void)owner;
  if (!has_right_length(header)) return NULL;
  return has_data(header) ? find_place(header) : request + FRAME_HEAD_BYTES;
}

static void end_request(void *owner, const frame_header_t *header, bool crc_good) {
  (void)owner;
  if (!crc_good) {
    if (header->type == FRAME_KEY && weights_key_drop) weights_key_drop();
    refuse(header, ERROR_BAD_CRC);
  } else if (!is_known(header->type)) {
    refuse(header, ERROR_UNKNOWN_TYPE);
  } else if (!has_right_length(header)) {
    refuse(header, ERROR_BAD_LENGTH);
  } else {
    if (has_data(header) && header->length == FRAME_HEAD_BYTES) find_place(header);
    obey(header);
  }
}

void host_begin(uint32_t uart_clock_hz) {
  frame_receiver_begin(&receiver, NULL, begin_request, go_on, end_request);
  host_send_begin();
  uart_host_begin(&board_host_uart, uart_clock_hz);
}

void uart_host_on_byte(uint8_t byte) { frame_receive(&receiver, byte); }

void host_interrupt(void) {
  uart_host_interrupt(&board_host_uart);
  if (frame_receiver_is_busy(&receiver)) ticker_start();
}

bool host_is_busy(void) { return frame_receiver_is_busy(&receiver) || reboot_ms; }

void host_tick(void) {
  uint32_t lock = interrupts_lock();
  bool was_busy = frame_receiver_is_busy(&receiver);
  frame_receiver_tick(&receiver);
  if (was_busy && !frame_receiver_is_busy(&receiver) && weights_key_drop) weights_key_drop(); /* half a key */
  interrupts_unlock(lock);
  if (reboot_ms && --reboot_ms == 0) reset_now();
}
