/* The DMA controllers of STM32F4, F7 and H7: streams. Every function takes one stream of a UART in one direction. */
#ifndef DMA_H
#define DMA_H

#include <stdbool.h>
#include <stdint.h>

#define DMA_ALL_FLAGS \
  (DMA_LIFCR_CFEIF0 | DMA_LIFCR_CDMEIF0 | DMA_LIFCR_CTEIF0 | DMA_LIFCR_CHTIF0 | DMA_LIFCR_CTCIF0)

/* H7: UARTs need bufferable transfers (RM0433 and RM0468, DMA_SxCR), or a stream may lock up. F4 and F7: a stream
 * selects its request; elsewhere the DMAMUX does.
 */
#ifdef DMA_SxCR_TRBUFF
#define DMA_REQUEST(dma) DMA_SxCR_TRBUFF
#else
#define DMA_REQUEST(dma) ((uint32_t)(dma)->request << DMA_SxCR_CHSEL_Pos)
#endif

typedef struct {
  DMA_TypeDef *controller;
  DMA_Stream_TypeDef *registers;
  uint8_t number; /* from 0, as in ST's manuals */
  uint8_t interrupt;
  uint8_t request; /* F4, F7: CHSEL */
} dma_channel_t;

/* Flags of four streams lie in a register, at 0, 6, 16 and 22. */
static inline uint32_t dma_flags_shift(const dma_channel_t *dma) {
  return (dma->number & 1u) * 6u + (dma->number >> 1 & 1u) * 16u;
}

/* Receives into a ring for ever, with interrupts at its half and at its end; `from` is a data register. */
static inline void dma_begin_ring(const dma_channel_t *dma, uint32_t from, const uint8_t *ring, uint32_t bytes) {
  dma->registers->PAR = from;
  dma->registers->M0AR = (uint32_t)(uintptr_t)ring;
  dma->registers->NDTR = bytes;
  dma->registers->CR =
      DMA_REQUEST(dma) | DMA_SxCR_MINC | DMA_SxCR_CIRC | DMA_SxCR_HTIE | DMA_SxCR_TCIE | DMA_SxCR_EN;
}

/* Bytes to the end of the ring, or of what is sent. */
static inline uint32_t dma_left(const dma_channel_t *dma) { return dma->registers->NDTR; }

/* Returns whether the transfer has been complete since the last call. Clears the flags that it has read, not those of
 * a transfer that ends meanwhile.
 */
static inline bool dma_take_complete(const dma_channel_t *dma) {
  uint32_t shift = dma_flags_shift(dma);
  bool is_high = dma->number > 3u;
  uint32_t flags = (is_high ? dma->controller->HISR : dma->controller->LISR) & DMA_ALL_FLAGS << shift;
  volatile uint32_t *clear = is_high ? &dma->controller->HIFCR : &dma->controller->LIFCR;
  *clear = flags;
  return (flags >> shift & DMA_LISR_TCIF0) != 0;
}

/* Sends `bytes` to a data register, with an interrupt at their end; the transfer before has to be complete, which
 * disables a stream.
 */
static inline void dma_send(const dma_channel_t *dma, uint32_t to, const uint8_t *from, uint32_t bytes) {
  dma->registers->PAR = to;
  dma->registers->M0AR = (uint32_t)(uintptr_t)from;
  dma->registers->NDTR = bytes;
  dma->registers->CR = DMA_REQUEST(dma) | DMA_SxCR_MINC | DMA_SxCR_DIR_0 | DMA_SxCR_TCIE | DMA_SxCR_EN;
}

#endif
