#include "uart.h"

#include "interrupts.h"

#define POLLS_PER_BYTE 1000000u /* a byte at 9600 baud takes 60 000 polls on the fastest core */

/* clock / baud rounded to nearest, in units of 1/256 for an LPUART; neither form overflows 32 bits. */
static uint32_t divider(uint32_t clock_hz, uint32_t baud, bool is_low_power) {
  if (!is_low_power) return (clock_hz + baud / 2) / baud;
  return clock_hz / baud * 256u + (clock_hz % baud * 256u + baud / 2) / baud;
}

void uart_begin(uart_t *uart, uint32_t clock_hz, frame_receiver_t *receiver, frame_transmitter_t *transmitter) {
  uart->receiver = receiver;
  uart->transmitter = transmitter;
  uart->registers->BRR = divider(clock_hz, uart->baud, uart->is_low_power);
  uart->registers->CR1 = USART_CR1_TE | USART_CR1_RE | USART_CR1_UE | UART_RECEIVE_INTERRUPT;
  NVIC_EnableIRQ((IRQn_Type)uart->interrupt);
}

static bool send_byte(uart_t *uart) {
  uint8_t byte;
  if (frame_next_byte(uart->transmitter, &byte)) {
    uart_put(uart->registers, byte);
    return true;
  }
  uart->registers->CR1 &= ~UART_SEND_INTERRUPT;
  uart->is_sending = false;
  return false;
}

void uart_wake(void *port) {
  uart_t *uart = port;
  uint32_t lock = interrupts_lock();
  bool is_left = true;
  while (is_left && (uart_status(uart->registers) & UART_SENDABLE)) is_left = send_byte(uart);
  if (is_left && !uart->is_sending) {
    uart->is_sending = true;
    uart->registers->CR1 |= UART_SEND_INTERRUPT;
  }
  interrupts_unlock(lock);
}

void uart_interrupt(uart_t *uart) {
  USART_TypeDef *registers = uart->registers;
  uint32_t status = uart_status(registers);
  if (status & (UART_RECEIVED | UART_LINE_ERRORS)) {
    uint8_t byte = uart_data(registers);
    if (status & UART_LINE_ERRORS) {
      uart_clear_line_errors(registers);
      if (uart->line_errors < UINT8_MAX) uart->line_errors++;
    }
    if (status & UART_RECEIVED) frame_receive(uart->receiver, byte);
  }
  if (uart->is_sending && (uart_status(registers) & UART_SENDABLE)) send_byte(uart);
}

void uart_send_polling(uart_t *uart) {
  uint8_t byte;
  while (frame_next_byte(uart->transmitter, &byte)) {
    for (uint32_t polls = POLLS_PER_BYTE; polls && !(uart_status(uart->registers) & UART_SENDABLE); polls--) {
    }
    uart_put(uart->registers, byte);
  }
}
