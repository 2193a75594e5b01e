/* A UART in interrupt mode: bytes received go to a frame receiver, bytes sent come from a frame transmitter. */
#ifndef UART_H
#define UART_H

#include "device.h"
#include "frames.h"

typedef struct {
  USART_TypeDef *registers;
  uint32_t clock_hz; /* when the clocks are raised */
  uint32_t baud;
  uint8_t interrupt;
  bool is_low_power; /* LPUART: BRR counts 1/256 of a clock */

  frame_receiver_t *receiver;
  frame_transmitter_t *transmitter;
  bool is_sending;
  uint8_t line_errors; /* overruns, noise and framing errors; stays at 255 */
} uart_t;

/* Starts at `clock_hz`, the clock that the UART has now. */
void uart_begin(uart_t *uart, uint32_t clock_hz, frame_receiver_t *receiver, frame_transmitter_t *transmitter);

/* Sends what the transmitter has, as far as the UART takes it, and the rest by interrupt. `port` is the uart_t. */
void uart_wake(void *port);

void uart_interrupt(uart_t *uart);

/* Sends all that the transmitter has without interrupts, for a firmware that is about to die. */
void uart_send_polling(uart_t *uart);

#endif
