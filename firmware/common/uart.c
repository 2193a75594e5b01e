#include "uart.h"

#define LEAST_BY_16 16u /* clocks per bit of a USART with oversampling by 16 */

/* Clocks per bit, rounded to nearest, in units of 1/256 for an LPUART; neither form overflows 32 bits. */
static uint32_t clocks_per_bit(const uart_t *uart, uint32_t clock_hz) {
  uint32_t baud = uart->baud;
  if (!uart->is_low_power) return (clock_hz + baud / 2) / baud;
  return clock_hz / baud * 256u + (clock_hz % baud * 256u + baud / 2) / baud;
}

/* Oversampling by 8 allows 8 to 15 clocks per bit: the three lowest bits stay, and those above them move up by one. */
void uart_begin(uart_t *uart, uint32_t clock_hz, uint32_t control_1, uint32_t control_3) {
  uint32_t clocks = clocks_per_bit(uart, clock_hz);
  if (clocks < LEAST_BY_16) {
    clocks += clocks & 8u;
    control_1 |= USART_CR1_OVER8;
  }
  if (uart->has_fifo) {
    control_1 |= UART_FIFO;
    control_3 |= UART_FIFO_THRESHOLDS;
  }
  uart->registers->BRR = clocks;
  uart->registers->CR3 = control_3;
  uart->registers->CR1 = control_1; /* these bits are locked while the UART is enabled */
  uart->registers->CR1 = control_1 | USART_CR1_TE | USART_CR1_RE | USART_CR1_UE;
}
