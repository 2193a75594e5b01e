/* The host port of a board without the board: bytes of the host on stdin, those of the board on stdout.
 *
 * The network reads 300 bytes and gives 260. Every byte that arrives is answered at once by all that is to be sent.
 */
#include <stdio.h>

#include "board.h"
#include "clock.h"
#include "host.h"
#include "network.h"
#include "schedule.h"

enum { INPUT_BYTES = 300, OUTPUT_BYTES = 260 };

const uint32_t network_project_hash = 0x12345678;
const uint8_t network_board_index = 0;
const uint32_t network_input_bytes = INPUT_BYTES;
const uint32_t network_input_offset = 0;
const uint32_t network_output_bytes = OUTPUT_BYTES;
const uint32_t network_output_offset = 0;
uint8_t network_arena[INPUT_BYTES];
network_time_t network_times[2];
const uint16_t network_time_count = 2;

uart_t board_host_uart, board_link_uarts[1];
const uint8_t board_link_count = 0;
bool clock_ok = true;
uint32_t clock_core_hz = 64000000;
volatile uint8_t schedule_state = SCHEDULE_AT_REST;
volatile bool schedule_has_output = true;

static frame_receiver_t *receiver;
static frame_transmitter_t *transmitter;

bool schedule_start(void) { return true; }

void schedule_command(uint8_t type, uint8_t sequence) { schedule_on_command(type, sequence); }

void uart_begin(uart_t *uart, uint32_t clock_hz, frame_receiver_t *to, frame_transmitter_t *from) {
  (void)uart;
  (void)clock_hz;
  receiver = to;
  transmitter = from;
}

void uart_wake(void *port) {
  uint8_t byte;
  (void)port;
  while (frame_next_byte(transmitter, &byte)) putchar(byte);
}

void uart_send_polling(uart_t *uart) { uart_wake(uart); }

int main(void) {
  host_begin(clock_core_hz);
  for (int byte = getchar(); byte != EOF; byte = getchar()) frame_receive(receiver, (uint8_t)byte);
  return 0;
}
