/* What the STM32F0, F1 and F3 have in common, at the same addresses, with ST's names. */
#ifndef F0_F1_F3_REGISTERS_H
#define F0_F1_F3_REGISTERS_H

#include "cortex_m.h"
#include "crc_registers.h"
#include "dma_channels_registers.h"
#include "exti_v1_registers.h"
#include "iwdg_registers.h"
#include "peripheral_registers.h"

typedef struct {
  volatile uint32_t ACR;
  volatile uint32_t KEYR;
  volatile uint32_t reserved_0;
  volatile uint32_t SR; /* 0x0C */
  volatile uint32_t CR;
  volatile uint32_t AR;
} FLASH_TypeDef;

typedef struct {
  volatile uint32_t CR;
} PWR_TypeDef;

#define RCC_BASE 0x40021000u
#define FLASH_BASE 0x08000000u
#define FLASH_R_BASE 0x40022000u
#define CRC_BASE 0x40023000u
#define PWR_BASE 0x40007000u
#define RTC_BASE 0x40002800u
#define EXTI_BASE 0x40010400u
#define IWDG_BASE 0x40003000u
#define USART1_BASE 0x40013800u
#define USART2_BASE 0x40004400u
#define USART3_BASE 0x40004800u
#define DMA1_BASE 0x40020000u
#define DMA2_BASE 0x40020400u
#define DMA2_Channel3_BASE 0x40020430u
#define DMA2_Channel5_BASE 0x40020458u

#define FLASH ((FLASH_TypeDef *)FLASH_R_BASE)

#define RCC_CR_HSION (1u << 0)
#define RCC_CR_HSIRDY (1u << 1)
#define RCC_CR_HSEON (1u << 16)
#define RCC_CR_HSERDY (1u << 17)
#define RCC_CR_HSEBYP (1u << 18)
#define RCC_CR_PLLON (1u << 24)
#define RCC_CR_PLLRDY (1u << 25)
#define RCC_CFGR_SW_PLL (2u << 0)
#define RCC_CFGR_SWS (3u << 2)
#define RCC_CFGR_SWS_PLL (2u << 2)
#define RCC_CFGR_HPRE_Pos 4u
#define RCC_AHBENR_DMA1EN (1u << 0)
#define RCC_AHBENR_DMA2EN (1u << 1)
#define RCC_AHBENR_CRCEN (1u << 6)
#define RCC_APB2ENR_USART1EN (1u << 14)
#define RCC_APB1ENR_USART2EN (1u << 17)
#define RCC_APB1ENR_USART3EN (1u << 18)
#define RCC_APB1ENR_PWREN (1u << 28)
#define RCC_BDCR_RTCSEL (3u << 8)
#define RCC_BDCR_RTCSEL_1 (2u << 8)
#define RCC_BDCR_RTCEN (1u << 15)
#define RCC_BDCR_BDRST (1u << 16)
#define RCC_CSR_LSION (1u << 0)
#define RCC_CSR_LSIRDY (1u << 1)
#define RCC_CSR_RMVF (1u << 24)
#define RCC_CSR_PINRSTF (1u << 26)
#define RCC_CSR_PORRSTF (1u << 27)
#define RCC_CSR_SFTRSTF (1u << 28)
#define RCC_CSR_IWDGRSTF (1u << 29)

#define FLASH_ACR_PRFTBE (1u << 4)
#define FLASH_SR_BSY (1u << 0)
#define FLASH_SR_PGERR (1u << 2)
#define FLASH_CR_PG (1u << 0)
#define FLASH_CR_PER (1u << 1)
#define FLASH_CR_STRT (1u << 6)
#define FLASH_CR_LOCK (1u << 7)

#define PWR_CR_LPDS (1u << 0)
#define PWR_CR_PDDS (1u << 1)
#define PWR_CR_CWUF (1u << 2)
#define PWR_CR_DBP (1u << 8)

#endif
