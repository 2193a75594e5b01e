/* The DMA controllers of the STM32F4, F7 and H7 (dma_streams.h), with ST's names. */
#ifndef DMA_STREAMS_REGISTERS_H
#define DMA_STREAMS_REGISTERS_H

#include <stdint.h>

typedef struct {
  volatile uint32_t LISR;
  volatile uint32_t HISR;
  volatile uint32_t LIFCR;
  volatile uint32_t HIFCR;
} DMA_TypeDef;

typedef struct {
  volatile uint32_t CR;
  volatile uint32_t NDTR;
  volatile uint32_t PAR;
  volatile uint32_t M0AR;
  volatile uint32_t M1AR;
  volatile uint32_t FCR;
} DMA_Stream_TypeDef;

#define DMA_SxCR_EN (1u << 0)
#define DMA_SxCR_HTIE (1u << 3)
#define DMA_SxCR_TCIE (1u << 4)
#define DMA_SxCR_DIR_0 (1u << 6)
#define DMA_SxCR_CIRC (1u << 8)
#define DMA_SxCR_MINC (1u << 10)
#define DMA_LISR_TCIF0 (1u << 5)
#define DMA_LIFCR_CFEIF0 (1u << 0)
#define DMA_LIFCR_CDMEIF0 (1u << 2)
#define DMA_LIFCR_CTEIF0 (1u << 3)
#define DMA_LIFCR_CHTIF0 (1u << 4)
#define DMA_LIFCR_CTCIF0 (1u << 5)

#define DMA1_Stream0_BASE (DMA1_BASE + 0x10u)
#define DMA1_Stream1_BASE (DMA1_BASE + 0x28u)
#define DMA1_Stream2_BASE (DMA1_BASE + 0x40u)
#define DMA1_Stream3_BASE (DMA1_BASE + 0x58u)
#define DMA1_Stream4_BASE (DMA1_BASE + 0x70u)
#define DMA1_Stream5_BASE (DMA1_BASE + 0x88u)
#define DMA1_Stream6_BASE (DMA1_BASE + 0xA0u)
#define DMA1_Stream7_BASE (DMA1_BASE + 0xB8u)
#define DMA2_Stream0_BASE (DMA2_BASE + 0x10u)
#define DMA2_Stream1_BASE (DMA2_BASE + 0x28u)
#define DMA2_Stream2_BASE (DMA2_BASE + 0x40u)
#define DMA2_Stream3_BASE (DMA2_BASE + 0x58u)
#define DMA2_Stream4_BASE (DMA2_BASE + 0x70u)
#define DMA2_Stream5_BASE (DMA2_BASE + 0x88u)
#define DMA2_Stream6_BASE (DMA2_BASE + 0xA0u)
#define DMA2_Stream7_BASE (DMA2_BASE + 0xB8u)

#define DMA1_Stream0 ((DMA_Stream_TypeDef *)DMA1_Stream0_BASE)
#define DMA1_Stream1 ((DMA_Stream_TypeDef *)DMA1_Stream1_BASE)
#define DMA1_Stream2 ((DMA_Stream_TypeDef *)DMA1_Stream2_BASE)
#define DMA1_Stream3 ((DMA_Stream_TypeDef *)DMA1_Stream3_BASE)
#define DMA1_Stream4 ((DMA_Stream_TypeDef *)DMA1_Stream4_BASE)
#define DMA1_Stream5 ((DMA_Stream_TypeDef *)DMA1_Stream5_BASE)
#define DMA1_Stream6 ((DMA_Stream_TypeDef *)DMA1_Stream6_BASE)
#define DMA1_Stream7 ((DMA_Stream_TypeDef *)DMA1_Stream7_BASE)
#define DMA2_Stream0 ((DMA_Stream_TypeDef *)DMA2_Stream0_BASE)
#define DMA2_Stream1 ((DMA_Stream_TypeDef *)DMA2_Stream1_BASE)
#define DMA2_Stream2 ((DMA_Stream_TypeDef *)DMA2_Stream2_BASE)
#define DMA2_Stream3 ((DMA_Stream_TypeDef *)DMA2_Stream3_BASE)
#define DMA2_Stream4 ((DMA_Stream_TypeDef *)DMA2_Stream4_BASE)
#define DMA2_Stream5 ((DMA_Stream_TypeDef *)DMA2_Stream5_BASE)
#define DMA2_Stream6 ((DMA_Stream_TypeDef *)DMA2_Stream6_BASE)
#define DMA2_Stream7 ((DMA_Stream_TypeDef *)DMA2_Stream7_BASE)

#endif
