/* The UART of a link: hands what arrives to link.c, and fetches from it what is to be sent. Of the three drivers a
 * project has one:
 *
 * dma          uart_link_dma.c: a ring that the DMA fills for ever, two chunks that it sends in turn
 * interrupt    uart_link_bytes.c: bytes by interrupts of the UART, or a few at a time where it has a FIFO
 * polling      uart_link_bytes.c without interrupts of the UART: nothing moves but after uart_link_poll
 *
 * The interrupts of the links have one common priority, below that of the host's UART (uart.h). All functions but
 * uart_link_poll are to be called from them or with interrupts masked.
 */
#ifndef UART_LINK_H
#define UART_LINK_H

#include "clock.h"
#include "link.h"
#include "uart.h"

typedef enum { UART_LINK_DMA, UART_LINK_INTERRUPT, UART_LINK_POLLING } uart_link_driver_t;

/* Generated. The DMA driver has a ring and two chunks; the other ones have one chunk. */
typedef struct {
  uart_link_driver_t driver;
  uint16_t chunk_bytes;
  uint16_t ring_bytes;
  uint8_t *chunks;
  uint8_t *ring;
  const dma_channel_t *receive;
  const dma_channel_t *send;
} uart_link_settings_t;

typedef struct {
  uart_t uart;
  const uart_link_settings_t *settings;
  link_t *link;
  uint16_t position; /* dma: of the byte in the ring that is handed over next; else of the byte of the chunk to send */
  uint16_t filled;   /* bytes of the chunk that is sent next (dma) or now */
  uint8_t leaving;   /* dma: the chunk that the DMA sends */
  bool is_sending;
} uart_link_t;

/* Enables the UART; `clock_hz` is that of uart_link_clock_hz. */
void uart_link_begin(uart_link_t *port, uint32_t clock_hz, link_t *link);

/* Its present kernel clock in Hz. */
static inline uint32_t uart_link_clock_hz(const uart_link_t *port) {
  return clock_ok ? port->uart.clock_hz : clock_core_hz;
}

static inline bool uart_link_is_polled(const uart_link_t *port) { return port->settings->driver == UART_LINK_POLLING; }

/* Whether each byte that arrives is handed over at once, by an interrupt. */
static inline bool uart_link_hears_bytes(const uart_link_t *port) {
  return port->settings->driver == UART_LINK_INTERRUPT && !port->uart.has_fifo;
}

/* Bytes that were filled, all but those of a link_fill that runs, and have not left `port`, a uart_link_t. */
uint32_t uart_link_left(const void *port);

/* There is something to send. `port` is the uart_link_t. */
void uart_link_wake(void *port);

/* Of the UART, and of both DMA channels. */
void uart_link_interrupt(uart_link_t *port);

/* Has what has arrived handed over without waiting for more, with the polling driver also what waits sent: by an
 * interrupt, which that of the host may interrupt.
 */
void uart_link_poll(uart_link_t *port);

#endif
