#include "uart_host.h"

#include "host_bytes.h"
#include "interrupts.h"

#define POLLS_PER_BYTE 1000000u /* a byte at 9600 baud takes 60 000 polls on the fastest core */

void uart_host_begin(uart_host_t *port, uint32_t clock_hz) {
  uart_begin(&port->uart, clock_hz, UART_RECEIVE_INTERRUPT, 0);
  NVIC_SetPriority((IRQn_Type)port->uart.interrupt, UART_HOST_PRIORITY);
  NVIC_EnableIRQ((IRQn_Type)port->uart.interrupt);
}

static bool send_byte(uart_host_t *port) {
  uint8_t byte;
  if (host_bytes_next(&byte)) {
    uart_put(port->uart.registers, byte);
    return true;
  }
  port->uart.registers->CR1 &= ~UART_SEND_INTERRUPT;
  port->is_sending = false;
  return false;
}

void uart_host_wake(uart_host_t *port) {
  uint32_t lock = interrupts_lock();
  bool is_left = true;
  while (is_left && (uart_status(port->uart.registers) & UART_SENDABLE)) is_left = send_byte(port);
  if (is_left && !port->is_sending) {
    port->is_sending = true;
    port->uart.registers->CR1 |= UART_SEND_INTERRUPT;
  }
  interrupts_unlock(lock);
}

bool uart_host_receive(uart_host_t *port, uint8_t *byte) {
  uint32_t status = uart_status(port->uart.registers);
  if (!(status & (UART_RECEIVED | UART_LINE_ERRORS))) return false;
  *byte = uart_data(port->uart.registers);
  uart_take_flags(&port->uart, status & ~UART_IDLE);
  return (status & UART_RECEIVED) != 0;
}

void uart_host_go_on(uart_host_t *port) {
  if (port->is_sending && (uart_status(port->uart.registers) & UART_SENDABLE)) send_byte(port);
}

void uart_host_send_polling(uart_host_t *port) {
  uint8_t byte;
  while (host_bytes_next(&byte)) {
    for (uint32_t polls = POLLS_PER_BYTE; polls && !(uart_status(port->uart.registers) & UART_SENDABLE); polls--) {
    }
    uart_put(port->uart.registers, byte);
  }
}
