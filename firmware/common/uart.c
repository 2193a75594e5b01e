#include "uart.h"

#define LEAST_BY_16 16u /* clocks per bit of a USART with oversampling by 16 */

/* Clocks per bit, rounded to nearest, in units of 1/256 for an LPUART; neither form overflows 32 bits. */
static uint32_t clocks_per_bit(const uart_t *uart, uint32_t clock_hz) {
  uint32_t baud = uart->baud;
  if (!uart->is_low_power) return (clock_hz + baud / 2) / baud;
  return clock_hz / baud * 256u + (clock_hz % baud * 256u + baud / 2) / baud;
}

/* Sets the divider of a UART that is off, and returns the bit of CR1 that belongs to it. Oversampling by 8 allows 8 to
 * 15 clocks per bit: the three lowest bits stay, and those above them move up by one.
 */
static uint32_t set_divider(const uart_t *uart, uint32_t clock_hz) {
  uint32_t clocks = clocks_per_bit(uart, clock_hz);
  bool is_over8 = clocks < LEAST_BY_16;
  uart->registers->BRR = is_over8 ? clocks + (clocks & 8u) : clocks;
  return is_over8 ? USART_CR1_OVER8 : 0;
}

void uart_begin(uart_t *uart, uint32_t clock_hz, uint32_t control_1, uint32_t control_3) {
  if (uart->has_fifo) {
    control_1 |= UART_FIFO;
    control_3 |= UART_FIFO_THRESHOLDS;
  }
  control_1 |= set_divider(uart, clock_hz);
  uart->registers->CR3 = control_3;
  uart->registers->CR1 = control_1; /* these bits are locked while the UART is enabled */
  uart->registers->CR1 = control_1 | USART_CR1_TE | USART_CR1_RE | USART_CR1_UE;
}

void uart_set_baud(uart_t *uart, uint32_t clock_hz, uint32_t baud) {
  uint32_t control_1 = uart->registers->CR1 & ~(USART_CR1_UE | USART_CR1_OVER8);
  uart->registers->CR1 = control_1;
  uart->baud = baud;
  control_1 |= set_divider(uart, clock_hz);
  uart->registers->CR1 = control_1;
  uart->registers->CR1 = control_1 | USART_CR1_UE;
}
