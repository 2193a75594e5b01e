/* The GPDMA of the STM32U5 (RM0456) and H5 (RM0481): every function takes one channel of a UART in one direction. A
 * channel has no circular mode: at the end of a ring it loads a linked-list item (gpdma_items.c) that begins the ring
 * again and stays.
 */
#ifndef DMA_H
#define DMA_H

#include <stdbool.h>
#include <stdint.h>

enum { GPDMA_CHANNELS = 8 }; /* that links use */

/* What a channel loads at the end of its ring, in the order of the registers that CLLR selects. */
typedef struct {
  uint32_t block;       /* CBR1: bytes */
  uint32_t destination; /* CDAR */
  uint32_t next;        /* CLLR: this item */
  uint32_t unused;      /* aligns the next one */
} gpdma_item_t;

extern gpdma_item_t gpdma_items[GPDMA_CHANNELS];

typedef struct {
  DMA_Channel_TypeDef *registers;
  uint8_t number; /* from 0 */
  uint8_t interrupt;
  uint8_t request; /* REQSEL */
} dma_channel_t;

#define DMA_LIST_BASE 0xFFFF0000u /* of CLBAR; CLLR has the rest of an item's address */

/* Receives into a ring for ever, with interrupts at its half and at its end; `from` is a data register. */
static inline void dma_begin_ring(const dma_channel_t *dma, uint32_t from, const uint8_t *ring, uint32_t bytes) {
  gpdma_item_t *item = &gpdma_items[dma->number];
  uint32_t address = (uint32_t)(uintptr_t)item;
  uint32_t next = DMA_CLLR_UB1 | DMA_CLLR_UDA | DMA_CLLR_ULL | (address & ~DMA_LIST_BASE);
  *item = (gpdma_item_t){.block = bytes, .destination = (uint32_t)(uintptr_t)ring, .next = next};
  __DSB();
  dma->registers->CLBAR = address & DMA_LIST_BASE;
  dma->registers->CTR1 = DMA_CTR1_DINC;
  dma->registers->CTR2 = dma->request;
  dma->registers->CBR1 = bytes;
  dma->registers->CSAR = from;
  dma->registers->CDAR = item->destination;
  dma->registers->CLLR = next;
  dma->registers->CCR = DMA_CCR_HTIE | DMA_CCR_TCIE | DMA_CCR_EN;
}

/* Bytes to the end of the ring, or of what is sent. */
static inline uint32_t dma_left(const dma_channel_t *dma) { return dma->registers->CBR1; }

/* Returns whether the transfer has been complete since the last call. Clears the flags that it has read, not those of
 * a transfer that ends meanwhile.
 */
static inline bool dma_take_complete(const dma_channel_t *dma) {
  uint32_t flags = dma->registers->CSR & (DMA_CSR_TCF | DMA_CSR_HTF);
  dma->registers->CFCR = flags;
  return (flags & DMA_CSR_TCF) != 0;
}

/* Sends `bytes` to a data register, with an interrupt at their end; the transfer before has to be complete, which
 * disables a channel.
 */
static inline void dma_send(const dma_channel_t *dma, uint32_t to, const uint8_t *from, uint32_t bytes) {
  dma->registers->CTR1 = DMA_CTR1_SINC;
  dma->registers->CTR2 = dma->request | DMA_CTR2_DREQ;
  dma->registers->CBR1 = bytes;
  dma->registers->CSAR = (uint32_t)(uintptr_t)from;
  dma->registers->CDAR = to;
  dma->registers->CLLR = 0;
  dma->registers->CCR = DMA_CCR_TCIE | DMA_CCR_EN;
}

#endif
