#include "mlperf_events.h"

#include "board.h"
#include "host_events.h"
#include "text_out.h"

static const mlperf_events_t *events;

void mlperf_events_begin(const mlperf_events_t *to) { events = to; }

void host_tell_obeyed(uint8_t type, uint8_t sequence, uint8_t code, uint32_t detail) {
  (void)type;
  (void)sequence;
  events->on_obeyed(code, detail);
}

void host_tell_error(uint8_t code, uint32_t detail) { events->on_error(code, detail); }

void host_tell_taken(uint32_t number) { (void)number; }

void host_tell_corrupt(uint32_t number) { events->on_corrupt(number); }

void host_tell_done(uint32_t number, uint32_t crc) {
  (void)number;
  (void)crc;
  events->on_done();
}

void mlperf_send_error(uint8_t code, uint32_t detail) {
  text_out("e-[Error ");
  text_out_number(code);
  text_out(", detail ");
  text_out_number(detail);
  text_out("]\r\n");
}

void host_tell_fault(uint8_t code, uint32_t program_counter) {
  uart_host_send_polling(&board_host_uart);
  mlperf_send_error(code, program_counter);
  uart_host_send_polling(&board_host_uart);
}
