#include "host_send.h"

#include "board.h"
#include "interrupts.h"

void host_send(const host_frame_t *outgoing) {
  uint32_t lock = interrupts_lock();
  host_queue_add(outgoing);
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

void host_send_refusal(const frame_header_t *to, uint8_t code) { host_send_error(to->sequence, code, to->type); }
