/* The UART to the host in interrupt mode, between the wire and the protocol that the board speaks.
 *
 * Its interrupt has a higher priority than those of the links: at 921600 baud and without a FIFO a byte is lost after
 * 11 us, less than a link needs for a piece of a tensor. So its handlers, to which uart_host_on_byte belongs, may
 * interrupt those of a link and must not call functions of link.h.
 */
#ifndef UART_HOST_H
#define UART_HOST_H

#include "uart.h"

typedef struct {
  uart_t uart;
  bool is_sending;
} uart_host_t;

/* Enables the UART; `clock_hz` is its present kernel clock. */
void uart_host_begin(uart_host_t *port, uint32_t clock_hz);

/* Starts sending: fills the UART, the rest follows by interrupt. */
void uart_host_wake(uart_host_t *port);

void uart_host_interrupt(uart_host_t *port);

/* Sends everything by polling, without interrupts: for fault reports. */
void uart_host_send_polling(uart_host_t *port);

/* Defined by the module that speaks the protocol (host.c or mlperf_host.c): takes a byte that has arrived, and fetches
 * the next one to send; false when there is none.
 */
void uart_host_on_byte(uint8_t byte);
bool uart_host_next_byte(uint8_t *byte);

#endif
