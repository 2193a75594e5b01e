/* A UART in interrupt mode: every byte received goes to a frame receiver, every byte sent is fetched from its owner. */
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
  bool (*next_byte)(void *owner, uint8_t *byte);
  void *owner;
  bool is_sending;
  uint8_t line_errors; /* overruns, noise and framing errors; stays at 255 */
} uart_t;

/* Starts at `clock_hz`, the clock that the UART has now. */
void uart_begin(uart_t *uart, uint32_t clock_hz, frame_receiver_t *receiver,
                bool (*next_byte)(void *owner, uint8_t *byte), void *owner);

/* Fetches and sends bytes until there is none; the rest by interrupt. `port` is the uart_t. */
void uart_wake(void *port);

void uart_interrupt(uart_t *uart);

/* Sends one byte without interrupts, for a firmware that is about to die. */
void uart_put_polling(uart_t *uart, uint8_t byte);

#endif
