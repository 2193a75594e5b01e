#include "uart_link.h"

#include "interrupts.h"
#include "link_ports.h"
#include "port.h"

enum { PIECE_BYTES = 32 }; /* that are filled before the first bytes leave */

void uart_link_begin(uart_link_t *port, uint32_t clock_hz, link_t *link) {
  (void)clock_hz;
  port->link = link;
}

uint32_t uart_link_left(const void *owner) {
  const uart_link_t *port = owner;
  return (uint32_t)port->filled + (port->is_sending ? port->sent_bytes : 0u);
}

void uart_link_wake(void *owner) {
  uart_link_t *port = owner;
  port->is_awake = true;
}

static void fill(uart_link_t *port, uint32_t room) {
  uint8_t *chunk = port->chunks[port->leaving ^ 1u];
  port->filled = (uint8_t)(port->filled + link_fill(port->link, chunk + port->filled, room - port->filled));
}

static void send_filled(uart_link_t *port) {
  if (port->filled == 0) return;
  port->is_sending = true;
  port->leaving ^= 1u;
  port->sent_bytes = port->filled;
  port->filled = 0;
  port_send((uint8_t)(port - board_link_uarts), port->chunks[port->leaving], port->sent_bytes);
}

void uart_link_send(uart_link_t *port) {
  if (!port->is_awake) return;
  port->is_awake = false;
  if (!port->is_sending) {
    fill(port, PIECE_BYTES);
    send_filled(port);
  }
  if (port->is_sending) fill(port, UART_LINK_CHUNK_BYTES);
}

void uart_link_sent(uart_link_t *port) {
  port->is_sending = false;
  send_filled(port);
  port->is_awake = true;
}

void uart_link_interrupt(uart_link_t *port) { (void)link_work(port->link); }

void uart_link_poll(uart_link_t *port) {
  for (bool is_left = true; is_left;) {
    uint32_t lock = interrupts_lock();
    is_left = link_work(port->link);
    interrupts_unlock(lock);
  }
}
