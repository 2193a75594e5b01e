/* The UART to the host in interrupt mode, between the wire and a frame receiver and transmitter.
 *
 * Its interrupt has a higher priority than those of the links: at 921600 baud and without a FIFO a byte is lost after
 * 11 us, less than a link needs for a piece of a tensor. So its handlers, to which the receiver's callbacks belong, may
 * interrupt those of a link and must not call functions of link.h.
 */
#ifndef UART_HOST_H
#define UART_HOST_H

#include "frames.h"
#include "uart.h"

typedef struct {
  uart_t uart;
  frame_receiver_t *receiver;
  frame_transmitter_t *transmitter;
  bool is_sending;
} uart_host_t;

/* Enables the UART; `clock_hz` is its present kernel clock. */
void uart_host_begin(uart_host_t *port, uint32_t clock_hz, frame_receiver_t *receiver,
                     frame_transmitter_t *transmitter);

/* Starts sending: fills the UART, the rest follows by interrupt. */
void uart_host_wake(uart_host_t *port);

void uart_host_interrupt(uart_host_t *port);

/* Sends everything by polling, without interrupts: for fault reports. */
void uart_host_send_polling(uart_host_t *port);

#endif
