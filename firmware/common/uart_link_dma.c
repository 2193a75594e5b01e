#include "uart_link.h"

/* Bytes that are filled at a time: between two pieces what has arrived is handed over, as the ring is small. While
 * nothing is sent the first piece leaves at once: it lasts longer than filling a whole chunk behind it (25 cycles a
 * byte on a Cortex-M0+ at 64 MHz; a byte at 4 Mbaud has 160).
 */
#define PIECE_BYTES 32u

/* The D-cache of a Cortex-M7, which clock_raise enables, lies between the core and the memory of ring and chunks: lines
 * are written back before the DMA reads them, and thrown away before the core reads what the DMA has written. The
 * generated buffers have lines of their own.
 */
#if __CORTEX_M == 7
#define LINE_BYTES 32u

static void write_back(uint8_t *chunk, uint32_t bytes) { SCB_CleanDCache_by_Addr(chunk, (int32_t)bytes); }

static void throw_away(uint8_t *bytes, uint32_t count) {
  uint32_t before = (uint32_t)(uintptr_t)bytes % LINE_BYTES;
  SCB_InvalidateDCache_by_Addr(bytes - before, (int32_t)(before + count));
}
#else
static void write_back(uint8_t *chunk, uint32_t bytes) {
  (void)chunk;
  (void)bytes;
}

static void throw_away(uint8_t *bytes, uint32_t count) {
  (void)bytes;
  (void)count;
}
#endif

void uart_link_begin(uart_link_t *port, uint32_t clock_hz, link_t *link) {
  const uart_link_settings_t *settings = port->settings;
  port->link = link;
  dma_begin_ring(settings->receive, uart_receive_address(port->uart.registers), settings->ring, settings->ring_bytes);
  uart_begin(&port->uart, clock_hz, USART_CR1_IDLEIE, USART_CR3_EIE | USART_CR3_DMAR | USART_CR3_DMAT);
  const uint8_t interrupts[] = {port->uart.interrupt, settings->receive->interrupt, settings->send->interrupt};
  for (uint32_t i = 0; i < sizeof interrupts; i++) {
    NVIC_SetPriority((IRQn_Type)interrupts[i], UART_LINK_PRIORITY);
    NVIC_EnableIRQ((IRQn_Type)interrupts[i]);
  }
}

/* Receiving */

/* Position in the ring behind what has arrived. */
static uint32_t arrived(const uart_link_t *port) {
  uint32_t left = dma_left(port->settings->receive);
  return left ? port->settings->ring_bytes - left : 0;
}

static void hand_over(uart_link_t *port, uint32_t end) {
  uint8_t *bytes = port->settings->ring + port->position;
  uint32_t count = end - port->position;
  port->position = (uint16_t)(end == port->settings->ring_bytes ? 0 : end);
  throw_away(bytes, count);
  link_receive_bytes(port->link, bytes, count);
}

static void receive(uart_link_t *port) {
  uint32_t end = arrived(port);
  if (end < port->position) hand_over(port, port->settings->ring_bytes);
  if (end > port->position) hand_over(port, end);
}

/* Sending */

static uint8_t *chunk(const uart_link_t *port, uint32_t number) {
  return port->settings->chunks + number * port->settings->chunk_bytes;
}

/* Returns whether there was something to send. */
static bool fill_piece(uart_link_t *port) {
  uint8_t *bytes = chunk(port, port->leaving ^ 1u);
  uint32_t left = (uint32_t)port->settings->chunk_bytes - port->filled;
  uint32_t count = link_fill(port->link, bytes + port->filled, left < PIECE_BYTES ? left : PIECE_BYTES);
  if (count == 0) return false;
  port->filled = (uint16_t)(port->filled + count);
  write_back(bytes, port->filled);
  return true;
}

uint32_t uart_link_left(const void *owner) {
  const uart_link_t *port = owner;
  return (port->is_sending ? dma_left(port->settings->send) : 0) + port->filled;
}

static void send_next(uart_link_t *port) {
  uint32_t bytes = port->filled;
  port->is_sending = bytes > 0;
  if (bytes == 0) return;
  port->leaving ^= 1u;
  port->filled = 0;
  dma_send(port->settings->send, uart_send_address(port->uart.registers), chunk(port, port->leaving), bytes);
}

static void send(uart_link_t *port) {
  if (!port->is_sending && fill_piece(port)) send_next(port);
  while (port->is_sending && port->filled < port->settings->chunk_bytes && fill_piece(port)) receive(port);
}

/* The interrupt fills the chunks: whoever wakes the link may have masked that of the host. */
void uart_link_wake(void *owner) {
  const uart_link_t *port = owner;
  NVIC_SetPendingIRQ((IRQn_Type)port->settings->send->interrupt);
}

void uart_link_interrupt(uart_link_t *port) {
  uart_take_flags(&port->uart, uart_status(port->uart.registers));
  dma_take_complete(port->settings->receive);
  if (dma_take_complete(port->settings->send)) send_next(port); /* at once: the UART has one or two bytes left */
  receive(port);
  send(port);
  if (link_work(port->link)) uart_link_wake(port);
}

void uart_link_poll(uart_link_t *port) {
  if (arrived(port) != port->position) uart_link_wake(port);
}
