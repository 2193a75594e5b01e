/* The DMA controllers of the STM32G0 and L4 (dma_channels.h), with ST's names. */
#ifndef DMA_CHANNELS_REGISTERS_H
#define DMA_CHANNELS_REGISTERS_H

#include <stdint.h>

typedef struct {
  volatile uint32_t ISR;
  volatile uint32_t IFCR;
#ifdef DMA_SELECTS_REQUESTS
  volatile uint32_t reserved_0[40];
  volatile uint32_t CSELR; /* 0xA8 */
#endif
} DMA_TypeDef;

typedef struct {
  volatile uint32_t CCR;
  volatile uint32_t CNDTR;
  volatile uint32_t CPAR;
#ifdef DMA_HAS_TWO_MEMORIES /* the L5, to change between */
  volatile uint32_t CM0AR;
#else
  volatile uint32_t CMAR;
#endif
} DMA_Channel_TypeDef;

#define DMA_CCR_EN (1u << 0)
#define DMA_CCR_TCIE (1u << 1)
#define DMA_CCR_HTIE (1u << 2)
#define DMA_CCR_DIR (1u << 4)
#define DMA_CCR_CIRC (1u << 5)
#define DMA_CCR_MINC (1u << 7)
#define DMA_ISR_TCIF1 (1u << 1)
#define DMA_ISR_HTIF1 (1u << 2)
#define DMA_ISR_TEIF1 (1u << 3)

#define DMA1_Channel1_BASE (DMA1_BASE + 0x08u)
#define DMA1_Channel2_BASE (DMA1_BASE + 0x1Cu)
#define DMA1_Channel3_BASE (DMA1_BASE + 0x30u)
#define DMA1_Channel4_BASE (DMA1_BASE + 0x44u)
#define DMA1_Channel5_BASE (DMA1_BASE + 0x58u)
#define DMA1_Channel6_BASE (DMA1_BASE + 0x6Cu)
#define DMA1_Channel7_BASE (DMA1_BASE + 0x80u)

#define DMA1_Channel1 ((DMA_Channel_TypeDef *)DMA1_Channel1_BASE)
#define DMA1_Channel2 ((DMA_Channel_TypeDef *)DMA1_Channel2_BASE)
#define DMA1_Channel3 ((DMA_Channel_TypeDef *)DMA1_Channel3_BASE)
#define DMA1_Channel4 ((DMA_Channel_TypeDef *)DMA1_Channel4_BASE)
#define DMA1_Channel5 ((DMA_Channel_TypeDef *)DMA1_Channel5_BASE)
#define DMA1_Channel6 ((DMA_Channel_TypeDef *)DMA1_Channel6_BASE)
#define DMA1_Channel7 ((DMA_Channel_TypeDef *)DMA1_Channel7_BASE)

#endif
