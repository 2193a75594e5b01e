#include "host.h"

#include <string.h>

#include "board.h"
#include "clock.h"
#include "cycle_counter.h"
#include "error_codes.h"
#include "exchange.h"
#include "frames.h"
#include "interrupts.h"
#include "network.h"
#include "reset.h"
#include "run.h"
#include "schedule.h"
#include "stack.h"
#include "ticker.h"
#include "times.h"
#include "transfers.h"
#include "weights_file.h"

enum { IDENTIFY_STATE, IDENTIFY_NOTE, IDENTIFY_STACK, IDENTIFY_WEIGHTS }; /* what IDENTIFY asks for */
enum { STAMPS_ENDS, STAMPS_SENDINGS, STAMPS_LINK_TICKS };                 /* what READ_STAMPS asks for */

enum {
  PROTOCOL_VERSION = 2,
  EVENT_SEQUENCE = 0,
  EVENT_BYTES = 8, /* at most */
  IDENTITY_WORDS = 15,
  REQUEST_BYTES = 10, /* without the data of LOAD, which goes to its place at once */
  LOAD_HEAD_BYTES = FRAME_HEAD_BYTES,
  LARGEST_OUTPUT_PART = FRAME_MAX_PAYLOAD,
  RECORDS_PER_REPLY = FRAME_MAX_PAYLOAD / 8,
  QUEUE_FRAMES = 6, /* replies to three requests, and events */
  REBOOT_MS = 10    /* for the reply to leave */
};

typedef struct {
  frame_header_t header;
  const void *payload; /* NULL: in `words` */
  uint32_t words[EVENT_BYTES / 4];
} outgoing_t;

static frame_receiver_t receiver;
static frame_transmitter_t transmitter;
static uint8_t request[REQUEST_BYTES];
static uint8_t load_error; /* of the LOAD that is being received */
static uint32_t identity[IDENTITY_WORDS];
static volatile uint8_t reboot_ms; /* until the board resets itself; 0: not at all */

/* Frames that wait; the first one is on its way when `is_first_leaving`. What finds no place is lost, as on a wire. */
static outgoing_t queue[QUEUE_FRAMES];
static uint8_t queue_first;
static uint8_t queue_count;
static bool is_first_leaving;

static uint32_t read_u32(const uint8_t *bytes) {
  return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static uint16_t read_u16(const uint8_t *bytes) { return (uint16_t)(bytes[0] | bytes[1] << 8); }

/* Sending */

static bool begin_next_frame(void *owner) {
  (void)owner;
  if (is_first_leaving) {
    is_first_leaving = false;
    queue_first = (uint8_t)((queue_first + 1) % QUEUE_FRAMES);
    queue_count--;
  }
  if (queue_count == 0) return false;
  is_first_leaving = true;
  const outgoing_t *first = &queue[queue_first];
  frame_transmit(&transmitter, &first->header, first->payload ? first->payload : first->words);
  return true;
}

static void enqueue(const outgoing_t *outgoing) {
  if (queue_count == QUEUE_FRAMES) return;
  queue[(queue_first + queue_count) % QUEUE_FRAMES] = *outgoing;
  queue_count++;
}

static void send(const outgoing_t *outgoing) {
  uint32_t lock = interrupts_lock();
  enqueue(outgoing);
  uart_host_wake(&board_host_uart);
  interrupts_unlock(lock);
}

static void send_reply(const frame_header_t *to, const void *payload, uint32_t length) {
  outgoing_t outgoing = {
      .header = {.type = to->type | FRAME_REPLY, .sequence = to->sequence, .length = (uint16_t)length},
      .payload = payload};
  send(&outgoing);
}

static outgoing_t two_words(uint8_t type, uint8_t sequence, uint32_t first, uint32_t second) {
  return (outgoing_t){.header = {.type = type, .sequence = sequence, .length = EVENT_BYTES}, .words = {first, second}};
}

static void send_error(uint8_t sequence, uint8_t code, uint32_t detail) {
  outgoing_t outgoing = two_words(FRAME_ERROR, sequence, code, detail);
  send(&outgoing);
}

static void refuse(const frame_header_t *header, uint8_t code) { send_error(header->sequence, code, header->type); }

/* Replies to what was asked for, or says why it was not done. */
static void answer(const frame_header_t *header, uint8_t code, uint32_t detail) {
  if (code) {
    send_error(header->sequence, code, detail);
  } else {
    send_reply(header, NULL, 0);
  }
}

/* Events of the modules below */

void schedule_on_obeyed(uint8_t type, uint8_t sequence, uint8_t code, uint32_t detail) {
  frame_header_t to = {.type = type, .sequence = sequence};
  answer(&to, code, detail);
}

void run_on_error(uint8_t code, uint32_t detail) { send_error(EVENT_SEQUENCE, code, detail); }

void exchange_on_corrupt(uint32_t number) { send_error(EVENT_SEQUENCE, ERROR_INPUT_CORRUPT, number); }

void exchange_on_done(uint32_t number, uint32_t crc) {
  outgoing_t outgoing = two_words(FRAME_DONE, EVENT_SEQUENCE, number, crc);
  send(&outgoing);
}

void exchange_on_taken(uint32_t number) {
  outgoing_t outgoing = two_words(FRAME_TAKEN, EVENT_SEQUENCE, number, 0);
  outgoing.header.length = sizeof number;
  send(&outgoing);
}

/* The frame under way is finished first, or the host would take the report for its payload. */
void host_send_fault(uint8_t code, uint32_t program_counter) {
  outgoing_t outgoing = two_words(FRAME_ERROR, EVENT_SEQUENCE, code, program_counter);
  uart_host_send_polling(&board_host_uart);
  enqueue(&outgoing);
  uart_host_send_polling(&board_host_uart);
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
  send_reply(header, identity, sizeof identity);
}

static void send_stack(const frame_header_t *to) {
  outgoing_t outgoing = two_words(to->type | FRAME_REPLY, to->sequence, stack_bytes(), stack_used_bytes());
  send(&outgoing);
}

static void send_weights(const frame_header_t *to) {
  if (!weights_file_identify) {
    refuse(to, ERROR_BAD_RANGE);
    return;
  }
  uint32_t crc, counter;
  weights_file_identify(&crc, &counter);
  outgoing_t outgoing = two_words(to->type | FRAME_REPLY, to->sequence, crc, counter);
  send(&outgoing);
}

static void identify(const frame_header_t *header) {
  uint8_t what = header->length ? request[0] : (uint8_t)IDENTIFY_STATE;
  switch (what) {
    case IDENTIFY_STATE: send_identity(header); break;
    case IDENTIFY_NOTE: send_reply(header, network_note, network_note_bytes); break;
    case IDENTIFY_STACK: send_stack(header); break;
    case IDENTIFY_WEIGHTS: send_weights(header); break;
    default: refuse(header, ERROR_BAD_RANGE);
  }
}

static void command(const frame_header_t *header) {
  run_request_t command = {.type = header->type, .sequence = header->sequence};
  if (header->type == FRAME_RESET) {
    command.run = read_u32(request);
    if (command.run == 0) {
      refuse(header, ERROR_BAD_RANGE);
      return;
    }
    if (schedule_is_in(command.run)) { /* repeated: an inference may be under way */
      send_reply(header, NULL, 0);
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
  if (!load_error) exchange_loaded(read_u32(request + 4), header->length - (uint32_t)LOAD_HEAD_BYTES);
  answer_exchange(header, load_error, exchange_inputs_taken);
}

static void start(const frame_header_t *header) {
  answer_exchange(header, exchange_start(read_u32(request), read_u32(request + 4)), exchange_inputs_taken);
}

static void read_output(const frame_header_t *header) {
  const uint8_t *from;
  uint32_t length = read_u16(request + 8);
  uint8_t code = length > LARGEST_OUTPUT_PART
                     ? ERROR_BAD_RANGE
                     : exchange_read(read_u32(request), read_u32(request + 4), length, &from);
  if (code) {
    answer_exchange(header, code, exchange_outputs_done);
  } else {
    send_reply(header, from, length);
  }
}

static void read_times(const frame_header_t *header) {
  uint16_t first = read_u16(request);
  if (first > network_step_count) {
    refuse(header, ERROR_BAD_RANGE);
    return;
  }
  uint32_t count = (uint32_t)network_step_count - first;
  if (count > RECORDS_PER_REPLY) count = RECORDS_PER_REPLY;
  send_reply(header, network_times + first, count * sizeof network_times[0]);
}

static void read_clock(const frame_header_t *header) {
  times_keep_clock = request[0];
  uint64_t now = cycle_counter_now();
  outgoing_t outgoing =
      two_words(FRAME_READ_CLOCK | FRAME_REPLY, header->sequence, (uint32_t)now, (uint32_t)(now >> 32));
  send(&outgoing);
}

/* From the byte that is asked for. */
static void read_stamps(const frame_header_t *header) {
  const void *stamps = network_ended;
  uint32_t bytes = network_step_count * (uint32_t)sizeof network_ended[0];
  if (request[0] == STAMPS_SENDINGS) bytes = transfers_stamps(&stamps);
  if (request[0] == STAMPS_LINK_TICKS) stamps = network_link_ticks;
  uint32_t first = read_u16(request + 1);
  if (request[0] > STAMPS_LINK_TICKS || first > bytes) {
    refuse(header, ERROR_BAD_RANGE);
    return;
  }
  bytes -= first;
  send_reply(header, (const uint8_t *)stamps + first, bytes < FRAME_MAX_PAYLOAD ? bytes : FRAME_MAX_PAYLOAD);
}

static void reboot(const frame_header_t *header) {
  send_reply(header, NULL, 0);
  reboot_ms = REBOOT_MS;
  ticker_start();
}

static void obey(const frame_header_t *header) {
  switch (header->type) {
    case FRAME_IDENTIFY: identify(header); break;
    case FRAME_RESET:
    case FRAME_STOP: command(header); break;
    case FRAME_LOAD: load(header); break;
    case FRAME_START: start(header); break;
    case FRAME_READ_OUTPUT: read_output(header); break;
    case FRAME_READ_TIMES: read_times(header); break;
    case FRAME_CHECK: schedule_check(header->sequence); break;
    case FRAME_READ_CLOCK: read_clock(header); break;
    case FRAME_READ_STAMPS: read_stamps(header); break;
    default: reboot(header);
  }
}

/* Receiving */

static bool is_known(uint8_t type) { return type >= FRAME_IDENTIFY && type <= FRAME_READ_STAMPS; }

static bool has_right_length(const frame_header_t *header) {
  static const uint8_t lengths[] = {[FRAME_RESET] = 4,      [FRAME_START] = 8,      [FRAME_READ_OUTPUT] = 10,
                                    [FRAME_READ_TIMES] = 2, [FRAME_READ_CLOCK] = 1, [FRAME_READ_STAMPS] = 3};
  if (header->type == FRAME_LOAD) return header->length >= LOAD_HEAD_BYTES;
  if (header->type == FRAME_IDENTIFY) return header->length <= 1;
  return is_known(header->type) && header->length == lengths[header->type];
}

static uint8_t *begin_request(void *owner, const frame_header_t *header) {
  (void)owner;
  if (!has_right_length(header)) return NULL;
  load_error = ERROR_NONE;
  return request;
}

/* The data of a LOAD is written to its place before its CRC is known. That does no harm: START has a CRC of it all. */
static uint8_t *find_place(const frame_header_t *header) {
  uint8_t *to = NULL;
  load_error = exchange_load(read_u32(request), read_u32(request + 4), header->length - (uint32_t)LOAD_HEAD_BYTES, &to);
  return to;
}

static uint8_t *go_on(void *owner, const frame_header_t *header) {
  (void)owner;
  if (!has_right_length(header)) return NULL;
  return header->type == FRAME_LOAD ? find_place(header) : request + FRAME_HEAD_BYTES;
}

static void end_request(void *owner, const frame_header_t *header, bool crc_good) {
  (void)owner;
  if (!crc_good) {
    refuse(header, ERROR_BAD_CRC);
  } else if (!is_known(header->type)) {
    refuse(header, ERROR_UNKNOWN_TYPE);
  } else if (!has_right_length(header)) {
    refuse(header, ERROR_BAD_LENGTH);
  } else {
    if (header->type == FRAME_LOAD && header->length == LOAD_HEAD_BYTES) find_place(header);
    obey(header);
  }
}

void host_begin(uint32_t uart_clock_hz) {
  frame_receiver_begin(&receiver, NULL, begin_request, go_on, end_request);
  frame_transmitter_begin(&transmitter, NULL, begin_next_frame);
  uart_host_begin(&board_host_uart, uart_clock_hz);
}

void uart_host_on_byte(uint8_t byte) { frame_receive(&receiver, byte); }

bool uart_host_next_byte(uint8_t *byte) { return frame_next_byte(&transmitter, byte); }

void host_interrupt(void) {
  uart_host_interrupt(&board_host_uart);
  if (frame_receiver_is_busy(&receiver)) ticker_start();
}

bool host_is_busy(void) { return frame_receiver_is_busy(&receiver) || reboot_ms; }

void host_tick(void) {
  uint32_t lock = interrupts_lock();
  frame_receiver_tick(&receiver);
  interrupts_unlock(lock);
  if (reboot_ms && --reboot_ms == 0) reset_now();
}
