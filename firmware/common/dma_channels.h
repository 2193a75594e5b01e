/* The DMA controllers of the STM32G0 and L4: channels. Every function takes one channel of a UART in one direction. */
#ifndef DMA_H
#define DMA_H

#include <stdbool.h>
#include <stdint.h>

#define DMA_FLAGS_PER_CHANNEL 4u
#ifndef DMA_MEMORY /* the register with the address there */
#define DMA_MEMORY(channel) ((channel)->CMAR)
#endif

typedef struct {
  DMA_TypeDef *controller;
  DMA_Channel_TypeDef *registers;
  uint8_t number; /* from 0: channel 1 of ST's manuals is 0 */
  uint8_t interrupt;
} dma_channel_t;

/* Receives into a ring for ever, with interrupts at its half and at its end; `from` is a data register. */
static inline void dma_begin_ring(const dma_channel_t *dma, uint32_t from, const uint8_t *ring, uint32_t bytes) {
  dma->registers->CPAR = from;
  DMA_MEMORY(dma->registers) = (uint32_t)(uintptr_t)ring;
  dma->registers->CNDTR = bytes;
  dma->registers->CCR = DMA_CCR_MINC | DMA_CCR_CIRC | DMA_CCR_HTIE | DMA_CCR_TCIE | DMA_CCR_EN;
}

/* Bytes to the end of the ring, or of what is sent. */
static inline uint32_t dma_left(const dma_channel_t *dma) { return dma->registers->CNDTR; }

/* Returns whether the transfer has been complete since the last call. Clears the flags that it has read, not those of
 * a transfer that ends meanwhile.
 */
static inline bool dma_take_complete(const dma_channel_t *dma) {
  uint32_t shift = dma->number * DMA_FLAGS_PER_CHANNEL;
  uint32_t flags = dma->controller->ISR & (DMA_ISR_TCIF1 | DMA_ISR_HTIF1 | DMA_ISR_TEIF1) << shift;
  dma->controller->IFCR = flags;
  return (flags >> shift & DMA_ISR_TCIF1) != 0;
}

/* Sends `bytes` to a data register, with an interrupt at their end; the transfer before has to be complete. */
static inline void dma_send(const dma_channel_t *dma, uint32_t to, const uint8_t *from, uint32_t bytes) {
  dma->registers->CCR = 0; /* the other registers are locked while the channel is enabled */
  dma->registers->CPAR = to;
  DMA_MEMORY(dma->registers) = (uint32_t)(uintptr_t)from;
  dma->registers->CNDTR = bytes;
  dma->registers->CCR = DMA_CCR_MINC | DMA_CCR_DIR | DMA_CCR_TCIE | DMA_CCR_EN;
}

#endif
