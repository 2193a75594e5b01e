/* What the STM32F4 and F7 have in common: clocks, flash controller, EXTI, and where peripherals are. By RM0368 (F401),
 * RM0390 (F446), RM0385 (F746) and RM0410 (F767), with ST's names.
 */
#ifndef STM32F4_F7_REGISTERS_H
#define STM32F4_F7_REGISTERS_H

#include <stdint.h>

#include "crc_registers.h"
#include "dma_streams_registers.h"
#include "exti_v1_registers.h"
#include "gpio_registers.h"
#include "iwdg_registers.h"
#include "peripheral_registers.h"
#include "rtc_v2_registers.h"
#include "syscfg_registers.h"

typedef struct {
  volatile uint32_t CR;
  volatile uint32_t PLLCFGR;
  volatile uint32_t CFGR;
  volatile uint32_t reserved_0[9];
  volatile uint32_t AHB1ENR; /* 0x30 */
  volatile uint32_t reserved_1[3];
  volatile uint32_t APB1ENR; /* 0x40 */
  volatile uint32_t APB2ENR;
  volatile uint32_t reserved_2[10];
  volatile uint32_t BDCR; /* 0x70 */
  volatile uint32_t CSR;
} RCC_TypeDef;

typedef struct {
  volatile uint32_t ACR;
  volatile uint32_t KEYR;
  volatile uint32_t reserved_0;
  volatile uint32_t SR; /* 0x0C */
  volatile uint32_t CR;
} FLASH_TypeDef;

#define RCC_BASE 0x40023800u
#define FLASH_BASE 0x08000000u
#define FLASH_R_BASE 0x40023C00u
#define CRC_BASE 0x40023000u
#define PWR_BASE 0x40007000u
#define RTC_BASE 0x40002800u
#define SYSCFG_BASE 0x40013800u
#define EXTI_BASE 0x40013C00u
#define IWDG_BASE 0x40003000u
#define GPIOA_BASE 0x40020000u
#define GPIOB_BASE 0x40020400u
#define GPIOC_BASE 0x40020800u
#define GPIOD_BASE 0x40020C00u
#define GPIOE_BASE 0x40021000u
#define GPIOH_BASE 0x40021C00u
#define USART1_BASE 0x40011000u
#define USART2_BASE 0x40004400u
#define USART3_BASE 0x40004800u
#define UART4_BASE 0x40004C00u
#define UART5_BASE 0x40005000u
#define USART6_BASE 0x40011400u
#define DMA1_BASE 0x40026000u
#define DMA2_BASE 0x40026400u

#define FLASH ((FLASH_TypeDef *)FLASH_R_BASE)

#define RCC_CR_HSION (1u << 0)
#define RCC_CR_HSIRDY (1u << 1)
#define RCC_CR_HSEON (1u << 16)
#define RCC_CR_HSERDY (1u << 17)
#define RCC_CR_HSEBYP (1u << 18)
#define RCC_CR_PLLON (1u << 24)
#define RCC_CR_PLLRDY (1u << 25)
#define RCC_PLLCFGR_PLLM (0x3Fu << 0)
#define RCC_PLLCFGR_PLLM_Pos 0u
#define RCC_PLLCFGR_PLLN (0x1FFu << 6)
#define RCC_PLLCFGR_PLLN_Pos 6u
#define RCC_PLLCFGR_PLLP (3u << 16)
#define RCC_PLLCFGR_PLLP_Pos 16u
#define RCC_PLLCFGR_PLLSRC (1u << 22)
#define RCC_PLLCFGR_PLLSRC_HSE (1u << 22)
#define RCC_PLLCFGR_PLLSRC_HSI 0u
#define RCC_CFGR_SW_PLL (2u << 0)
#define RCC_CFGR_SWS (3u << 2)
#define RCC_CFGR_SWS_PLL (2u << 2)
#define RCC_CFGR_HPRE_Pos 4u
#define RCC_CFGR_PPRE1_Pos 10u
#define RCC_CFGR_PPRE2_Pos 13u
#define RCC_AHB1ENR_GPIOAEN (1u << 0)
#define RCC_AHB1ENR_GPIOBEN (1u << 1)
#define RCC_AHB1ENR_GPIOCEN (1u << 2)
#define RCC_AHB1ENR_GPIODEN (1u << 3)
#define RCC_AHB1ENR_GPIOEEN (1u << 4)
#define RCC_AHB1ENR_GPIOHEN (1u << 7)
#define RCC_AHB1ENR_DMA1EN (1u << 21)
#define RCC_AHB1ENR_CRCEN (1u << 12)
#define RCC_AHB1ENR_DMA2EN (1u << 22)
#define RCC_APB1ENR_USART2EN (1u << 17)
#define RCC_APB1ENR_USART3EN (1u << 18)
#define RCC_APB1ENR_UART4EN (1u << 19)
#define RCC_APB1ENR_UART5EN (1u << 20)
#define RCC_APB1ENR_PWREN (1u << 28)
#define RCC_APB2ENR_USART1EN (1u << 4)
#define RCC_APB2ENR_USART6EN (1u << 5)
#define RCC_APB2ENR_SYSCFGEN (1u << 14)

#define RCC_CSR_LSION (1u << 0)
#define RCC_CSR_LSIRDY (1u << 1)
#define RCC_BDCR_RTCSEL (3u << 8)
#define RCC_BDCR_RTCSEL_1 (2u << 8)
#define RCC_BDCR_RTCEN (1u << 15)
#define RCC_BDCR_BDRST (1u << 16)
#define RCC_CSR_RMVF (1u << 24)
#define RCC_CSR_BORRSTF (1u << 25)
#define RCC_CSR_PINRSTF (1u << 26)
#define RCC_CSR_PORRSTF (1u << 27)
#define RCC_CSR_SFTRSTF (1u << 28)
#define RCC_CSR_IWDGRSTF (1u << 29)

#define FLASH_SR_BSY (1u << 16)
#define FLASH_CR_SER (1u << 1)
#define FLASH_CR_SNB_Pos 3u
#define FLASH_CR_PSIZE_Pos 8u

#define DMA_SxCR_CHSEL_Pos 25u

#endif
