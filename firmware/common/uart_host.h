/* The UART to the host in interrupt mode, between the wire and the protocol that the board speaks: it sends the bytes
 * of host_bytes.h.
 *
 * Its interrupt has a higher priority than those of the links: at 921600 baud and without a FIFO a byte is lost after
 * 11 us, less than a link needs for a piece of a tensor. So its handler, to which requests belong, may
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

/* Of the interrupt: first takes a byte that has arrived (false if none has), then goes on sending. */
bool uart_host_receive(uart_host_t *port, uint8_t *byte);
void uart_host_go_on(uart_host_t *port);

/* Sends everything by polling, without interrupts: for fault reports. */
void uart_host_send_polling(uart_host_t *port);

#endif
