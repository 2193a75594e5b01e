/* What the STM32H5 and U5 have in common, with ST's names. */
#ifndef H5_U5_REGISTERS_H
#define H5_U5_REGISTERS_H

#include "crc_registers.h"
#include "crc_v2_registers.h"
#include "gpdma_registers.h"
#include "gpio_registers.h"
#include "iwdg_registers.h"
#include "m33_registers.h"
#include "peripheral_registers.h"
#include "usart_v2_registers.h"

#define FLASH_BASE 0x08000000u
#define CRC_BASE 0x40023000u
#define IWDG_BASE 0x40003000u
#define GPDMA1_BASE 0x40020000u
#define GPIOI_BASE 0x42022000u
#define USART1_BASE 0x40013800u

#define GPDMA1 ((void *)GPDMA1_BASE)

#define RCC_CR_HSEON (1u << 16)
#define RCC_CR_HSERDY (1u << 17)
#define RCC_CR_PLL1ON (1u << 24)
#define RCC_CR_PLL1RDY (1u << 25)
#define RCC_CFGR1_SW (3u << 0)
#define RCC_CFGR2_HPRE_Pos 0u
#define RCC_CFGR2_PPRE1_Pos 4u
#define RCC_CFGR2_PPRE2_Pos 8u
#define RCC_PLL1CFGR_PLL1SRC (3u << 0)
#define RCC_PLL1CFGR_PLL1M_Pos 8u
#define RCC_PLL1DIVR_PLL1N_Pos 0u
#define RCC_AHB1ENR_GPDMA1EN (1u << 0)
#define RCC_AHB1ENR_CRCEN (1u << 12)
#define RCC_APB2ENR_USART1EN (1u << 14)
#define RCC_APB3ENR_RTCAPBEN (1u << 21)
#define RCC_BDCR_RTCSEL (3u << 8)
#define RCC_BDCR_RTCSEL_1 (2u << 8)
#define RCC_BDCR_RTCEN (1u << 15)
#define RCC_BDCR_LSION (1u << 26)
#define RCC_BDCR_LSIRDY (1u << 27)

#endif
