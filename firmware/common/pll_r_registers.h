/* What the STM32L4, L4+, G4, L5, WB and WL have in common: clocks (clock_pll_r.h) and addresses, with ST's names. */
#ifndef PLL_R_REGISTERS_H
#define PLL_R_REGISTERS_H

#include "crc_registers.h"
#include "crc_v2_registers.h"
#include "dma_channels_registers.h"
#include "dmamux_registers.h"
#include "gpio_registers.h"
#include "iwdg_registers.h"
#include "peripheral_registers.h"
#include "usart_v2_registers.h"

typedef struct {
  volatile uint32_t CR;
  volatile uint32_t ICSCR;
  volatile uint32_t CFGR;
  volatile uint32_t PLLCFGR;
  volatile uint32_t reserved_0[14];
  volatile uint32_t AHB1ENR; /* 0x48 */
  volatile uint32_t AHB2ENR;
  volatile uint32_t AHB3ENR;
  volatile uint32_t reserved_1;
  volatile uint32_t APB1ENR1; /* 0x58 */
  volatile uint32_t APB1ENR2;
  volatile uint32_t APB2ENR;
  volatile uint32_t reserved_2[11];
  volatile uint32_t BDCR; /* 0x90 */
  volatile uint32_t CSR;
#ifdef RCC_HAS_SECOND_CORE
  volatile uint32_t reserved_3[28];
  volatile uint32_t EXTCFGR; /* 0x108 */
#endif
} RCC_TypeDef;

#define FLASH_BASE 0x08000000u
#define CRC_BASE 0x40023000u
#define RTC_BASE 0x40002800u
#define IWDG_BASE 0x40003000u
#define USART1_BASE 0x40013800u
#define LPUART1_BASE 0x40008000u
#define DMA1_BASE 0x40020000u
#define DMA2_BASE 0x40020400u
#define DMA2_Channel1_BASE 0x40020408u
#define DMA2_Channel2_BASE 0x4002041Cu
#define DMA2_Channel3_BASE 0x40020430u
#define DMA2_Channel4_BASE 0x40020444u
#define DMA2_Channel5_BASE 0x40020458u
#define DMA2_Channel6_BASE 0x4002046Cu
#define DMA2_Channel7_BASE 0x40020480u

#define RCC_CR_HSION (1u << 8)
#define RCC_CR_HSIRDY (1u << 10)
#define RCC_CR_HSEON (1u << 16)
#define RCC_CR_HSERDY (1u << 17)
#define RCC_CR_PLLON (1u << 24)
#define RCC_CR_PLLRDY (1u << 25)
#define RCC_CFGR_SWS (3u << 2)
#define RCC_CFGR_HPRE_Pos 4u
#define RCC_CFGR_PPRE1_Pos 8u
#define RCC_CFGR_PPRE2_Pos 11u
#define RCC_PLLCFGR_PLLM_Pos 4u
#define RCC_PLLCFGR_PLLN_Pos 8u
#define RCC_AHB1ENR_DMA1EN (1u << 0)
#define RCC_AHB1ENR_DMA2EN (1u << 1)
#define RCC_AHB1ENR_CRCEN (1u << 12)
#define RCC_AHB1ENR_DMAMUX1EN (1u << 2)
#define RCC_AHB2ENR_GPIOAEN (1u << 0)
#define RCC_AHB2ENR_GPIOBEN (1u << 1)
#define RCC_AHB2ENR_GPIOCEN (1u << 2)
#define RCC_APB1ENR1_RTCAPBEN (1u << 10)
#define RCC_APB1ENR2_LPUART1EN (1u << 0)
#define RCC_APB2ENR_USART1EN (1u << 14)

#define RCC_BDCR_RTCSEL (3u << 8)
#define RCC_BDCR_RTCSEL_1 (2u << 8)
#define RCC_BDCR_RTCEN (1u << 15)
#define RCC_BDCR_BDRST (1u << 16)
#define RCC_CSR_RMVF (1u << 23)
#define RCC_CSR_PINRSTF (1u << 26)
#define RCC_CSR_BORRSTF (1u << 27)
#define RCC_CSR_SFTRSTF (1u << 28)
#define RCC_CSR_IWDGRSTF (1u << 29)

#define PWR_CR1_LPMS (7u << 0)
#define PWR_CR1_DBP (1u << 8)

#endif
