#include "host.h"

#include "board.h"
#include "clock.h"
#include "cycle_counter.h"
#include "error_codes.h"
#include "exchange.h"
#include "frames.h"
#include "host_events.h"
#include "host_send.h"
#include "interrupts.h"
#include "network.h"
#include "requests.h"
#include "reset.h"
#include "run.h"
#include "schedule.h"
#include "standalone.h"
#include "ticker.h"
#include "transfers.h"

enum {
  PROTOCOL_VERSION = 2,
  IDENTITY_WORDS = 15,
  REQUEST_BYTES = 12, /* the most, without data, which go to their place at once */
  READ_OUTPUT_BYTES = 10,
  LARGEST_OUTPUT_PART = FRAME_MAX_PAYLOAD,
  REBOOT_MS = 10 /* for the reply to leave */
};

static frame_receiver_t receiver;
static uint8_t request[REQUEST_BYTES];
static const request_t *current; /* that is being received; NULL: unknown */
static uint8_t data_error; /* why its data have no place */
static uint32_t identity[IDENTITY_WORDS];
static volatile uint8_t reboot_ms; /* until the board resets itself; 0: not at all */

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

static void send_note(const frame_header_t *header, const uint8_t *head) {
  (void)head;
  host_send_reply(header, network_note, network_note_bytes);
}

static const request_t *find(uint8_t type, uint8_t what) {
  for (const request_t *each = __start_requests; each != __stop_requests; each++) {
    if (each->type == type && each->what == what) return each;
  }
  return NULL;
}

static void identify(const frame_header_t *header, const uint8_t *head) {
  uint8_t what = header->length ? head[0] : (uint8_t)IDENTIFY_STATE;
  const request_t *asked = find(FRAME_IDENTIFY, what);
  if (what == IDENTIFY_STATE) {
    send_identity(header);
  } else if (asked) {
    asked->obey(header, head);
  } else {
    host_send_refusal(header, ERROR_BAD_RANGE);
  }
}

static void change_run(const frame_header_t *header, const uint8_t *head) {
  run_request_t command = {.type = header->type, .sequence = header->sequence};
  if (header->type == FRAME_RESET) {
    command.run = frame_u32(head);
    if (command.run == 0) {
      host_send_refusal(header, ERROR_BAD_RANGE);
      return;
    }
    if (schedule_is_in(command.run)) { /* repeated: an inference may be under way */
      standalone_yield();
      host_send_reply(header, NULL, 0);
      return;
    }
  }
  run_request(&command);
}

/* What an inference's number does not fit is answered with the number that does. */
static void answer(const frame_header_t *header, uint8_t code, uint32_t number) {
  host_tell_obeyed(header->type, header->sequence, code, code == ERROR_WRONG_NUMBER ? number : header->type);
}

/* That does no harm: START has a CRC of the whole input. */
static uint8_t place_input(const uint8_t *head, uint32_t bytes, uint8_t **to) {
  return exchange_load(frame_u32(head), frame_u32(head + 4), bytes, to);
}

static void load(const frame_header_t *header, const uint8_t *head) {
  exchange_loaded(frame_u32(head + 4), header->length - (uint32_t)FRAME_HEAD_BYTES);
  host_send_reply(header, NULL, 0);
}

static void start(const frame_header_t *header, const uint8_t *head) {
  answer(header, exchange_start(frame_u32(head), frame_u32(head + 4), 1), exchange_inputs_taken);
}

static void read_output(const frame_header_t *header, const uint8_t *head) {
  const uint8_t *from;
  uint32_t length = frame_u16(head + 8);
  uint8_t code = length > LARGEST_OUTPUT_PART
                     ? ERROR_BAD_RANGE
                     : exchange_read(frame_u32(head), frame_u32(head + 4), length, &from);
  if (code) {
    answer(header, code, exchange_outputs_done);
  } else {
    host_send_reply(header, from, length);
  }
}

static void check(const frame_header_t *header, const uint8_t *head) {
  (void)head;
  schedule_check(header->sequence);
}

static void reboot(const frame_header_t *header, const uint8_t *head) {
  (void)head;
  host_send_reply(header, NULL, 0);
  reboot_ms = REBOOT_MS;
  ticker_start();
}

static const request_data_t input_data = {place_input, NULL};
REQUESTS table[] = {{FRAME_IDENTIFY, IDENTIFY_STATE, 0, 1, identify, NULL},
                    {FRAME_IDENTIFY, IDENTIFY_NOTE, 0, 1, send_note, NULL},
                    {FRAME_RESET, 0, 4, 4, change_run, NULL},
                    {FRAME_LOAD, 0, FRAME_HEAD_BYTES, 0, load, &input_data},
                    {FRAME_START, 0, 8, 8, start, NULL},
                    {FRAME_READ_OUTPUT, 0, READ_OUTPUT_BYTES, READ_OUTPUT_BYTES, read_output, NULL},
                    {FRAME_STOP, 0, 0, 0, change_run, NULL},
                    {FRAME_CHECK, 0, 0, 0, check, NULL},
                    {FRAME_REBOOT, 0, 0, 0, reboot, NULL}};

/* Receiving */

static bool has_right_length(uint32_t bytes) {
  return bytes >= current->least_bytes && (current->data || bytes <= current->most_bytes);
}

static uint8_t *begin_request(void *owner, const frame_header_t *header) {
  (void)owner;
  current = find(header->type, 0);
  return current && has_right_length(header->length) ? request : NULL;
}

static uint8_t *find_place(const frame_header_t *header) {
  uint8_t *to;
  data_error = current->data->place(request, header->length - (uint32_t)FRAME_HEAD_BYTES, &to);
  return data_error ? NULL : to;
}

static uint8_t *go_on(void *owner, const frame_header_t *header) {
  (void)owner;
  if (!current || !has_right_length(header->length)) return NULL;
  return current->data ? find_place(header) : request + FRAME_HEAD_BYTES;
}

static void drop_data(void) {
  if (current && current->data && current->data->drop) current->data->drop();
}

static void obey(const frame_header_t *header) {
  if (current->data && header->length == FRAME_HEAD_BYTES) find_place(header);
  if (current->data && data_error) {
    answer(header, data_error, exchange_inputs_taken);
  } else {
    current->obey(header, request);
  }
}

static void end_request(void *owner, const frame_header_t *header, bool crc_good) {
  (void)owner;
  if (!crc_good) {
    drop_data();
    host_send_refusal(header, ERROR_BAD_CRC);
    return;
  }
  standalone_note_host();
  if (!current) {
    host_send_refusal(header, ERROR_UNKNOWN_TYPE);
  } else if (!has_right_length(header->length)) {
    host_send_refusal(header, ERROR_BAD_LENGTH);
  } else {
    obey(header);
  }
}

void host_begin(uint32_t uart_clock_hz) {
  frame_receiver_begin(&receiver, NULL, begin_request, go_on, end_request);
  host_queue_begin();
  uart_host_begin(&board_host_uart, uart_clock_hz);
}

void host_interrupt(void) {
  uint8_t byte;
  if (uart_host_receive(&board_host_uart, &byte)) frame_receive(&receiver, byte);
  uart_host_go_on(&board_host_uart);
  if (frame_receiver_is_busy(&receiver)) ticker_start();
}

bool host_is_busy(void) { return frame_receiver_is_busy(&receiver) || reboot_ms; }

#ifdef STOP_MODE
bool host_is_sending(void) { return board_host_uart.is_sending || uart_is_sending(&board_host_uart.uart); }

void host_listen(bool does) { uart_listen(&board_host_uart.uart, does); }
#endif

void host_tick(void) {
  uint32_t lock = interrupts_lock();
  bool was_busy = frame_receiver_is_busy(&receiver);
  frame_receiver_tick(&receiver);
  if (was_busy && !frame_receiver_is_busy(&receiver)) drop_data();
  interrupts_unlock(lock);
  if (reboot_ms && --reboot_ms == 0) reset_now();
}
