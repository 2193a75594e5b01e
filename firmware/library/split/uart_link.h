/* The UART of a link in a library: the program's, over the port. Two chunks take turns, so that one is filled while the
 * other leaves.
 */
#ifndef UART_LINK_H
#define UART_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "link.h"

enum { UART_LINK_CHUNK_BYTES = 64 };

typedef struct {
  link_t *link;
  uint8_t leaving; /* the chunk that is sent */
  bool is_sending;
  bool is_awake;      /* the link has something to send */
  uint8_t filled;     /* bytes of the chunk that is sent next */
  uint8_t sent_bytes; /* of the chunk that is sent */
  uint8_t chunks[2][UART_LINK_CHUNK_BYTES];
} uart_link_t;

/* All functions are to be called within the critical section. */

void uart_link_begin(uart_link_t *port, uint32_t clock_hz, link_t *link);
uint32_t uart_link_left(const void *port);
void uart_link_wake(void *port);

/* Begins to send what the link has to say. */
void uart_link_send(uart_link_t *port);

/* The chunk has left. */
void uart_link_sent(uart_link_t *port);

/* Behind what has arrived or left: some of the CRCs that links make. */
void uart_link_interrupt(uart_link_t *port);

/* The rest of them, interrupts masked for one piece at a time. */
void uart_link_poll(uart_link_t *port);

static inline uint32_t uart_link_clock_hz(const uart_link_t *port) {
  (void)port;
  return 0;
}

static inline bool uart_link_is_polled(const uart_link_t *port) {
  (void)port;
  return false;
}

static inline bool uart_link_hears_bytes(const uart_link_t *port) {
  (void)port;
  return false;
}

#endif
