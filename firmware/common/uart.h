/* A UART in interrupt mode, between the wire and a frame receiver and transmitter. */
#ifndef UART_H
#define UART_H

#include "device.h"
#include "frames.h"

typedef struct {
  USART_TypeDef *registers;
  uint32_t clock_hz; /* kernel clock when clock_ok */
  uint32_t baud;
  uint8_t interrupt;
  bool is_low_power; /* LPUART: BRR in units of 1/256 clock */

  frame_receiver_t *receiver;
  frame_transmitter_t *transmitter;
  bool is_sending;
  uint8_t line_errors; /* overrun, noise and framing errors; saturates at 255 */
} uart_t;

/* Enables the UART; `clock_hz` is its present kernel clock. */
void uart_begin(uart_t *uart, uint32_t clock_hz, frame_receiver_t *receiver, frame_transmitter_t *transmitter);

/* Starts sending: fills the UART, the rest follows by interrupt. `port` is the uart_t. */
void uart_wake(void *port);

void uart_interrupt(uart_t *uart);

/* Sends everything by polling, without interrupts: for fault reports. */
void uart_send_polling(uart_t *uart);

#endif
