#include "host_events.h"

#include "board.h"
#include "error_codes.h"
#include "host_send.h"

enum { EVENT_SEQUENCE = 0 };

void host_tell_obeyed(uint8_t type, uint8_t sequence, uint8_t code, uint32_t detail) {
  if (code) {
    host_send_error(sequence, code, detail);
  } else {
    frame_header_t to = {.type = type, .sequence = sequence};
    host_send_reply(&to, NULL, 0);
  }
}

void host_tell_error(uint8_t code, uint32_t detail) { host_send_error(EVENT_SEQUENCE, code, detail); }

void host_tell_corrupt(uint32_t number) { host_send_error(EVENT_SEQUENCE, ERROR_INPUT_CORRUPT, number); }

void host_tell_done(uint32_t number, uint32_t crc) {
  host_frame_t outgoing = host_two_words(FRAME_DONE, EVENT_SEQUENCE, number, crc);
  host_send(&outgoing);
}

void host_tell_taken(uint32_t number) {
  host_frame_t outgoing = host_two_words(FRAME_TAKEN, EVENT_SEQUENCE, number, 0);
  outgoing.header.length = sizeof number;
  host_send(&outgoing);
}

/* The frame under way is finished first, or the host would take the report for its payload. */
void host_tell_fault(uint8_t code, uint32_t program_counter) {
  host_frame_t outgoing = host_two_words(FRAME_ERROR, EVENT_SEQUENCE, code, program_counter);
  uart_host_send_polling(&board_host_uart);
  host_queue_add(&outgoing);
  uart_host_send_polling(&board_host_uart);
}
