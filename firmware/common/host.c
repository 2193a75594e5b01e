#include "host.h"

#include <string.h>

#include "board.h"
#include "clock.h"
#include "cycle_counter.h"
#include "interrupts.h"
#include "network.h"
#include "schedule.h"

enum {
  PROTOCOL_VERSION = 1,
  EVENT_SEQUENCE = 0,
  ERROR_BYTES = 8,
  IDENTITY_BYTES = 24,
  LARGEST_REQUEST = 252,
  LARGEST_OUTPUT_PART = 252,
  RECORDS_PER_REPLY = 31,
  QUEUE_FRAMES = 4,
};

typedef struct {
  frame_header_t header;
  const void *payload; /* NULL: in `error` */
  uint8_t error[ERROR_BYTES];
} outgoing_t;

static frame_receiver_t receiver;
static frame_transmitter_t transmitter;
static uint8_t request[LARGEST_REQUEST];
static uint8_t identity[IDENTITY_BYTES];

/* Frames that wait; the first one is on its way when `is_first_leaving`. What finds no place is lost, as on a wire. */
static outgoing_t queue[QUEUE_FRAMES];
static uint8_t queue_first;
static uint8_t queue_count;
static bool is_first_leaving;

static int last_start = -1; /* sequence of the request before, if it was a START that was obeyed */

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
  frame_transmit(&transmitter, &first->header, first->payload ? first->payload : first->error);
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

static outgoing_t error_frame(uint8_t sequence, uint8_t code, uint32_t detail) {
  outgoing_t outgoing = {.header = {.type = FRAME_ERROR, .sequence = sequence, .length = ERROR_BYTES},
                         .error = {code}};
  memcpy(outgoing.error + 4, &detail, sizeof detail);
  return outgoing;
}

static void refuse(const frame_header_t *header, uint8_t code) {
  outgoing_t outgoing = error_frame(header->sequence, code, header->type);
  send(&outgoing);
}

void host_send_error(uint8_t code, uint32_t detail) {
  outgoing_t outgoing = error_frame(EVENT_SEQUENCE, code, detail);
  send(&outgoing);
}

void schedule_on_command(uint8_t type, uint8_t sequence) {
  frame_header_t to = {.type = type, .sequence = sequence};
  send_reply(&to, NULL, 0);
}

void schedule_on_done(void) {
  outgoing_t outgoing = {.header = {.type = FRAME_DONE, .sequence = EVENT_SEQUENCE}};
  send(&outgoing);
}

void schedule_on_link_timeout(uint16_t cut) { host_send_error(HOST_LINK_TIMEOUT, cut); }

/* The frame under way is finished first, or the host would take the report for its payload. */
void host_send_fault(uint32_t program_counter) {
  outgoing_t outgoing = error_frame(EVENT_SEQUENCE, HOST_FAULT, program_counter);
  uart_host_send_polling(&board_host_uart);
  enqueue(&outgoing);
  uart_host_send_polling(&board_host_uart);
}

/* Requests */

static uint8_t line_errors(void) {
  uint32_t sum = board_host_uart.uart.line_errors;
#if BOARD_HAS_LINKS
  for (uint8_t i = 0; i < board_link_count; i++) sum += board_link_uarts[i].uart.line_errors;
#endif
  return (uint8_t)(sum < UINT8_MAX ? sum : UINT8_MAX);
}

static void identify(const frame_header_t *header) {
  const uint32_t words[] = {network_project_hash, clock_core_hz, cycle_counter_hz(clock_core_hz), network_input_bytes,
                            network_output_bytes};
  identity[0] = PROTOCOL_VERSION;
  identity[1] = network_board_index;
  identity[2] = clock_ok;
  identity[3] = line_errors();
  memcpy(identity + 4, words, sizeof words);
  send_reply(header, identity, sizeof identity);
}

static void command(const frame_header_t *header) { schedule_command(header->type, header->sequence); }

static void load(const frame_header_t *header) {
  uint32_t offset = read_u32(request);
  uint32_t length = header->length - 4u;
  if (network_input_bytes == 0) {
    refuse(header, HOST_NOT_FIRST);
  } else if (schedule_state == SCHEDULE_RUNNING) {
    refuse(header, HOST_BUSY);
  } else if (offset > network_input_bytes || length > network_input_bytes - offset) {
    refuse(header, HOST_BAD_RANGE);
  } else {
    memcpy(network_arena + network_input_offset + offset, request + 4, length);
    send_reply(header, NULL, 0);
  }
}

/* A START that is repeated because its reply was lost must not start again. */
static void start(const frame_header_t *header, bool is_repeated) {
  if (network_input_bytes == 0) {
    refuse(header, HOST_NOT_FIRST);
  } else if (is_repeated || schedule_start()) {
    last_start = header->sequence;
    send_reply(header, NULL, 0);
  } else {
    refuse(header, HOST_BUSY);
  }
}

static void read_output(const frame_header_t *header) {
  uint32_t offset = read_u32(request);
  uint32_t length = read_u16(request + 4);
  if (length > LARGEST_OUTPUT_PART || offset > network_output_bytes || length > network_output_bytes - offset) {
    refuse(header, HOST_BAD_RANGE);
  } else if (!schedule_has_output) {
    refuse(header, HOST_BUSY);
  } else {
    send_reply(header, network_arena + network_output_offset + offset, length);
  }
}

static void read_times(const frame_header_t *header) {
  uint16_t first = read_u16(request);
  if (first > network_time_count) {
    refuse(header, HOST_BAD_RANGE);
    return;
  }
  uint32_t count = (uint32_t)network_time_count - first;
  if (count > RECORDS_PER_REPLY) count = RECORDS_PER_REPLY;
  send_reply(header, network_times + first, count * sizeof network_times[0]);
}

static bool has_right_length(const frame_header_t *header) {
  switch (header->type) {
    case FRAME_LOAD: return header->length >= 4 && header->length <= LARGEST_REQUEST;
    case FRAME_READ_OUTPUT: return header->length == 6;
    case FRAME_READ_TIMES: return header->length == 2;
    default: return header->length == 0;
  }
}

static void obey(const frame_header_t *header) {
  bool is_repeated_start = header->type == FRAME_START && last_start == header->sequence;
  last_start = -1;
  switch (header->type) {
    case FRAME_IDENTIFY: identify(header); break;
    case FRAME_RESET:
    case FRAME_STOP: command(header); break;
    case FRAME_LOAD: load(header); break;
    case FRAME_START: start(header, is_repeated_start); break;
    case FRAME_READ_OUTPUT: read_output(header); break;
    case FRAME_READ_TIMES: read_times(header); break;
    default: refuse(header, HOST_UNKNOWN_TYPE);
  }
}

static bool is_known(uint8_t type) { return type >= FRAME_IDENTIFY && type <= FRAME_STOP; }

static uint8_t *begin_request(void *owner, const frame_header_t *header) {
  (void)owner;
  return header->length <= LARGEST_REQUEST ? request : NULL;
}

static void end_request(void *owner, const frame_header_t *header, bool crc_good) {
  (void)owner;
  if (!crc_good) {
    refuse(header, HOST_BAD_CRC);
  } else if (!is_known(header->type)) {
    refuse(header, HOST_UNKNOWN_TYPE);
  } else if (!has_right_length(header)) {
    refuse(header, HOST_BAD_LENGTH);
  } else {
    obey(header);
  }
}

void host_begin(uint32_t uart_clock_hz) {
  frame_receiver_begin(&receiver, NULL, begin_request, end_request);
  frame_transmitter_begin(&transmitter, NULL, begin_next_frame);
  uart_host_begin(&board_host_uart, uart_clock_hz, &receiver, &transmitter);
}

void host_tick(void) { frame_receiver_tick(&receiver); }
