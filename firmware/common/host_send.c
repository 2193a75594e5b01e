#include "host_send.h"

#include "board.h"
#include "host.h"
#include "interrupts.h"
#include "uart_host.h"

enum { QUEUE_FRAMES = 6 }; /* replies to three requests, and events */

static frame_transmitter_t transmitter;

/* Frames that wait; the first one is on its way when `is_first_leaving`. What finds no place is lost, as on a wire. */
static host_frame_t queue[QUEUE_FRAMES];
static uint8_t queue_first;
static uint8_t queue_count;
static bool is_first_leaving;

static bool begin_next_frame(void *owner) {
  (void)owner;
  if (is_first_leaving) {
    is_first_leaving = false;
    queue_first = (uint8_t)((queue_first + 1) % QUEUE_FRAMES);
    queue_count--;
  }
  if (queue_count == 0) return false;
  is_first_leaving = true;
  const host_frame_t *first = &queue[queue_first];
  frame_transmit(&transmitter, &first->header, first->payload ? first->payload : first->words);
  return true;
}

static void enqueue(const host_frame_t *outgoing) {
  if (queue_count == QUEUE_FRAMES) return;
  queue[(queue_first + queue_count) % QUEUE_FRAMES] = *outgoing;
  queue_count++;
}

void host_send(const host_frame_t *outgoing) {
  uint32_t lock = interrupts_lock();
  enqueue(outgoing);
  uart_host_wake(&board_host_uart);
  interrupts_unlock(lock);
}

void host_send_reply(const frame_header_t *to, const void *payload, uint32_t length) {
  host_frame_t outgoing = {
      .header = {.type = to->type | FRAME_REPLY, .sequence = to->sequence, .length = (uint16_t)length},
      .payload = payload};
  host_send(&outgoing);
}

host_frame_t host_two_words(uint8_t type, uint8_t sequence, uint32_t first, uint32_t second) {
  return (host_frame_t){.header = {.type = type, .sequence = sequence, .length = HOST_EVENT_BYTES},
                        .words = {first, second}};
}

void host_send_error(uint8_t sequence, uint8_t code, uint32_t detail) {
  host_frame_t outgoing = host_two_words(FRAME_ERROR, sequence, code, detail);
  host_send(&outgoing);
}

/* The frame under way is finished first, or the host would take the report for its payload. */
void host_send_fault(uint8_t code, uint32_t program_counter) {
  host_frame_t outgoing = host_two_words(FRAME_ERROR, HOST_EVENT_SEQUENCE, code, program_counter);
  uart_host_send_polling(&board_host_uart);
  enqueue(&outgoing);
  uart_host_send_polling(&board_host_uart);
}

bool uart_host_next_byte(uint8_t *byte) { return frame_next_byte(&transmitter, byte); }

void host_send_begin(void) { frame_transmitter_begin(&transmitter, NULL, begin_next_frame); }
