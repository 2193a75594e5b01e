#include "port.h"

#include "interrupts.h"
#include "link_ports.h"
#include "ticker.h"
#include "transfers.h"

volatile uint32_t ticker_ms;

static const tinysplit_port_t *port;
static uint32_t depth; /* of nested critical sections */
static uint32_t seen_ms;

void port_begin(const tinysplit_port_t *own) {
  port = own;
  seen_ms = port->milliseconds(port->context);
}

uint32_t interrupts_lock(void) {
  uint32_t before = port->lock ? port->lock(port->context) : 0;
  depth++;
  return before;
}

void interrupts_unlock(uint32_t before) {
  for (uint32_t i = 0; depth == 1 && i < board_link_count; i++) uart_link_send(&board_link_uarts[i]);
  depth--;
  if (port->lock) port->unlock(port->context, before);
}

void port_send(uint8_t link, const uint8_t *bytes, uint32_t count) { port->send(port->context, link, bytes, count); }

void port_sleep(void) {
  if (port->sleep) port->sleep(port->context);
}

void port_received(uint8_t link, const uint8_t *bytes, uint32_t count) {
  uint32_t lock = interrupts_lock();
  link_receive_bytes(board_link_uarts[link].link, bytes, count);
  transfers_interrupt(link);
  interrupts_unlock(lock);
}

void port_sent(uint8_t link) {
  uint32_t lock = interrupts_lock();
  uart_link_sent(&board_link_uarts[link]);
  transfers_interrupt(link);
  interrupts_unlock(lock);
}

/* A millisecond at a time: lines are not silent because the program has not looked at them. */
void port_tick(void) {
  uint32_t lock = interrupts_lock();
  uint32_t ms = port->milliseconds(port->context);
  if (ms != seen_ms) {
    seen_ms = ms;
    if (port->take) port->take(port->context);
    ticker_ms++;
    transfers_tick();
  }
  interrupts_unlock(lock);
}
