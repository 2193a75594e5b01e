/* A channel of the GPDMA of the STM32H5 and U5 (gpdma.h), with ST's names. */
#ifndef GPDMA_REGISTERS_H
#define GPDMA_REGISTERS_H

#include <stdint.h>

typedef struct {
  volatile uint32_t CLBAR;
  volatile uint32_t reserved_0[2];
  volatile uint32_t CFCR; /* 0x0C */
  volatile uint32_t CSR;
  volatile uint32_t CCR;
  volatile uint32_t reserved_1[10];
  volatile uint32_t CTR1; /* 0x40 */
  volatile uint32_t CTR2;
  volatile uint32_t CBR1;
  volatile uint32_t CSAR;
  volatile uint32_t CDAR;
  volatile uint32_t reserved_2[10];
  volatile uint32_t CLLR; /* 0x7C */
} DMA_Channel_TypeDef;

#define DMA_CFCR_TCF (1u << 8)
#define DMA_CFCR_HTF (1u << 9)
#define DMA_CSR_TCF (1u << 8)
#define DMA_CSR_HTF (1u << 9)
#define DMA_CCR_EN (1u << 0)
#define DMA_CCR_TCIE (1u << 8)
#define DMA_CCR_HTIE (1u << 9)
#define DMA_CTR1_SINC (1u << 3)
#define DMA_CTR1_DINC (1u << 19)
#define DMA_CTR2_DREQ (1u << 10)
#define DMA_CLLR_ULL (1u << 16)
#define DMA_CLLR_UDA (1u << 27)
#define DMA_CLLR_UB1 (1u << 29)

#define GPDMA1_Channel0_BASE (GPDMA1_BASE + 0x50u)
#define GPDMA1_Channel1_BASE (GPDMA1_BASE + 0xD0u)
#define GPDMA1_Channel2_BASE (GPDMA1_BASE + 0x150u)
#define GPDMA1_Channel3_BASE (GPDMA1_BASE + 0x1D0u)
#define GPDMA1_Channel4_BASE (GPDMA1_BASE + 0x250u)
#define GPDMA1_Channel5_BASE (GPDMA1_BASE + 0x2D0u)
#define GPDMA1_Channel6_BASE (GPDMA1_BASE + 0x350u)
#define GPDMA1_Channel7_BASE (GPDMA1_BASE + 0x3D0u)

#define GPDMA1_Channel0 ((DMA_Channel_TypeDef *)GPDMA1_Channel0_BASE)
#define GPDMA1_Channel1 ((DMA_Channel_TypeDef *)GPDMA1_Channel1_BASE)
#define GPDMA1_Channel2 ((DMA_Channel_TypeDef *)GPDMA1_Channel2_BASE)
#define GPDMA1_Channel3 ((DMA_Channel_TypeDef *)GPDMA1_Channel3_BASE)
#define GPDMA1_Channel4 ((DMA_Channel_TypeDef *)GPDMA1_Channel4_BASE)
#define GPDMA1_Channel5 ((DMA_Channel_TypeDef *)GPDMA1_Channel5_BASE)
#define GPDMA1_Channel6 ((DMA_Channel_TypeDef *)GPDMA1_Channel6_BASE)
#define GPDMA1_Channel7 ((DMA_Channel_TypeDef *)GPDMA1_Channel7_BASE)

#endif
