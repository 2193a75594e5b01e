/* The used registers of the STM32L4 and L4+, by RM0394 (L412, L433, L452), RM0351 (L496) and RM0432 (L4R5),
 * with ST's names.
 */
#ifndef STM32L4_REGISTERS_H
#define STM32L4_REGISTERS_H

#include "rtc_v2_registers.h"
#include "stm32l4_g4_registers.h"
#include "usart_v2_plain_registers.h"

typedef struct {
  volatile uint32_t CSELR;
} DMA_Request_TypeDef; /* L4: the requests of a controller's channels; the L4+ has a DMAMUX */

typedef struct {
  volatile uint32_t CR;
  volatile uint32_t DCR;
  volatile uint32_t SR;
  volatile uint32_t FCR;
  volatile uint32_t DLR;
  volatile uint32_t CCR;
  volatile uint32_t reserved_0;
  volatile uint32_t ABR; /* 0x1C */
  volatile uint32_t DR;
  volatile uint32_t reserved_1[3];
  volatile uint32_t LPTR; /* 0x30 */
} QUADSPI_TypeDef; /* L4 only */

#define GPIOH_BASE 0x48001C00u
#define DMA1_CSELR_BASE 0x400200A8u
#define DMA2_CSELR_BASE 0x400204A8u
#define QSPI_R_BASE 0xA0001000u

#define DMA1_CSELR ((DMA_Request_TypeDef *)DMA1_CSELR_BASE)
#define DMA2_CSELR ((DMA_Request_TypeDef *)DMA2_CSELR_BASE)
#define QUADSPI ((QUADSPI_TypeDef *)QSPI_R_BASE)

#define RCC_CFGR_STOPWUCK (1u << 15)
#define RCC_AHB2ENR_GPIOHEN (1u << 7)
#define RCC_AHB3ENR_QSPIEN (1u << 8)

#if defined(STM32L4P5xx) || defined(STM32L4Q5xx) || defined(STM32L4R5xx) || defined(STM32L4R7xx) || \
    defined(STM32L4R9xx) || defined(STM32L4S5xx) || defined(STM32L4S7xx) || defined(STM32L4S9xx)
#define PWR_CR1_RRSTP (1u << 4)
#endif
#define PWR_CR2_IOSV (1u << 9)

#define QUADSPI_CR_EN (1u << 0)
#define QUADSPI_CR_TCEN (1u << 3)
#define QUADSPI_CR_SSHIFT (1u << 4)
#define QUADSPI_CR_PRESCALER_Pos 24u
#define QUADSPI_DCR_CSHT_Pos 8u
#define QUADSPI_DCR_FSIZE_Pos 16u
#define QUADSPI_SR_TCF (1u << 1)
#define QUADSPI_SR_BUSY (1u << 5)
#define QUADSPI_FCR_CTCF (1u << 1)
#define QUADSPI_CCR_IMODE_Pos 8u
#define QUADSPI_CCR_ADMODE_Pos 10u
#define QUADSPI_CCR_ADSIZE_Pos 12u
#define QUADSPI_CCR_ABMODE_Pos 14u
#define QUADSPI_CCR_DCYC_Pos 18u
#define QUADSPI_CCR_DMODE_Pos 24u
#define QUADSPI_CCR_FMODE_Pos 26u

#endif
