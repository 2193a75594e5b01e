/* A UART: what the host port (uart_host.h) and the ports of the links (uart_link.h) share. */
#ifndef UART_H
#define UART_H

#include <stdbool.h>
#include <stdint.h>

#include "device.h"

/* Of interrupts: 0, the highest, is left to the application, SysTick has the lowest. */
#define UART_HOST_PRIORITY 1u
#define UART_LINK_PRIORITY 2u

typedef struct {
  USART_TypeDef *registers;
  uint32_t clock_hz; /* kernel clock when clock_ok */
  uint32_t baud;
  uint8_t interrupt;
  bool is_low_power; /* LPUART: BRR in units of 1/256 clock */
  bool has_fifo;
  uint8_t line_errors; /* overrun, noise and framing errors; saturates at 255 */
} uart_t;

/* Sets the baud rate and enables the UART; `clock_hz` is its present kernel clock, the others are more bits of CR1 and
 * CR3.
 */
void uart_begin(uart_t *uart, uint32_t clock_hz, uint32_t control_1, uint32_t control_3);

/* Changes the baud rate of an enabled UART that sends nothing. */
void uart_set_baud(uart_t *uart, uint32_t clock_hz, uint32_t baud);

/* Clears the flags of the receiver that `status` has, and counts line errors. */
static inline void uart_take_flags(uart_t *uart, uint32_t status) {
  if (!(status & (UART_LINE_ERRORS | UART_IDLE))) return;
  uart_clear_flags(uart->registers, status);
  if ((status & UART_LINE_ERRORS) && uart->line_errors < UINT8_MAX) uart->line_errors++;
}

#ifdef STOP_MODE
/* Whether a byte is leaving. */
static inline bool uart_is_sending(const uart_t *uart) { return !(uart_status(uart->registers) & UART_SENT); }

/* Whether the receiver of an enabled UART listens. */
static inline void uart_listen(const uart_t *uart, bool does) {
  uint32_t others = uart->registers->CR1 & ~USART_CR1_RE;
  uart->registers->CR1 = does ? others | USART_CR1_RE : others;
}
#endif

#endif
