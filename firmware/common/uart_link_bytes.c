/* The drivers `interrupt` and `polling`: they differ only in who makes the interrupt pending, the UART or a poll. */
#include "uart_link.h"

#define MOST_BYTES 16u /* handed over at once: the largest FIFO */

static bool has_interrupts(const uart_link_t *port) { return port->settings->driver == UART_LINK_INTERRUPT; }

void uart_link_begin(uart_link_t *port, uint32_t clock_hz, link_t *link) {
  port->link = link;
  uint32_t control_1 = port->uart.has_fifo ? USART_CR1_IDLEIE : UART_RECEIVE_INTERRUPT;
  uint32_t control_3 = port->uart.has_fifo ? USART_CR3_EIE | UART_FIFO_RECEIVE_INTERRUPT : 0;
  if (!has_interrupts(port)) control_1 = control_3 = 0;
  uart_begin(&port->uart, clock_hz, control_1, control_3);
  NVIC_SetPriority((IRQn_Type)port->uart.interrupt, UART_LINK_PRIORITY);
  NVIC_EnableIRQ((IRQn_Type)port->uart.interrupt);
}

static void set_sending(uart_link_t *port, bool is_sending) {
  if (port->is_sending == is_sending) return;
  port->is_sending = is_sending;
  if (!has_interrupts(port)) return;
  volatile uint32_t *control = port->uart.has_fifo ? &port->uart.registers->CR3 : &port->uart.registers->CR1;
  uint32_t enable = port->uart.has_fifo ? UART_FIFO_SEND_INTERRUPT : UART_SEND_INTERRUPT;
  *control = is_sending ? *control | enable : *control & ~enable;
}

static void send(uart_link_t *port) {
  while (uart_status(port->uart.registers) & UART_SENDABLE) {
    if (port->position == port->filled) {
      port->position = port->filled = 0;
      port->filled = (uint16_t)link_fill(port->link, port->settings->chunks, port->settings->chunk_bytes);
      if (port->filled == 0) {
        set_sending(port, false);
        return;
      }
    }
    uart_put(port->uart.registers, port->settings->chunks[port->position++]);
  }
}

uint32_t uart_link_left(const void *owner) {
  const uart_link_t *port = owner;
  return (uint32_t)port->filled - port->position;
}

static void receive(uart_link_t *port) {
  USART_TypeDef *registers = port->uart.registers;
  uint8_t bytes[MOST_BYTES];
  uint32_t count = 0;
  uint32_t status = uart_status(registers);
  while (count < MOST_BYTES && (status & UART_RECEIVED)) {
    bytes[count++] = uart_data(registers);
    uart_take_flags(&port->uart, status);
    status = uart_status(registers);
  }
  uart_take_flags(&port->uart, port->uart.has_fifo ? status : status & ~UART_IDLE); /* only a FIFO has a rest */
  if (count) link_receive_bytes(port->link, bytes, count);
}

/* Returns whether there is more to do at once. */
static bool serve(uart_link_t *port) {
  receive(port);
  if (port->is_sending) send(port);
  return link_work(port->link);
}

void uart_link_wake(void *owner) {
  uart_link_t *port = owner;
  set_sending(port, true);
  if (has_interrupts(port)) NVIC_SetPendingIRQ((IRQn_Type)port->uart.interrupt); /* also without TXEIE (QEMU 7.2) */
}

void uart_link_interrupt(uart_link_t *port) {
  if (serve(port)) NVIC_SetPendingIRQ((IRQn_Type)port->uart.interrupt);
}

static bool has_received(const uart_link_t *port) {
  return (uart_status(port->uart.registers) & UART_RECEIVED) != 0;
}

void uart_link_poll(uart_link_t *port) {
  if (!has_interrupts(port) || has_received(port)) NVIC_SetPendingIRQ((IRQn_Type)port->uart.interrupt);
}
