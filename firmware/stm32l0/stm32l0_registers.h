/* The used registers of the STM32L0, by RM0367 (L0x3) and RM0377 (L0x1), with ST's names. */
#ifndef STM32L0_REGISTERS_H
#define STM32L0_REGISTERS_H

#define __CORTEX_M 0
#define __NVIC_PRIO_BITS 2
#define USART_WITHOUT_FIFO
#include "cortex_m.h"
#include "crc_registers.h"
#include "crc_v2_registers.h"
#include "dma_channels_registers.h"
#include "exti_v1_registers.h"
#include "gpio_registers.h"
#include "iwdg_registers.h"
#include "peripheral_registers.h"
#include "rtc_v2_registers.h"
#include "syscfg_registers.h"
#include "tim_registers.h"
#include "usart_v2_plain_registers.h"
#include "usart_v2_registers.h"

typedef struct {
  volatile uint32_t CR;
  volatile uint32_t ICSCR;
  volatile uint32_t CRRCR;
  volatile uint32_t CFGR;
  volatile uint32_t reserved_0[7];
  volatile uint32_t IOPENR; /* 0x2C */
  volatile uint32_t AHBENR;
  volatile uint32_t APB2ENR;
  volatile uint32_t APB1ENR;
  volatile uint32_t reserved_1[5];
  volatile uint32_t CSR; /* 0x50 */
} RCC_TypeDef;

typedef struct {
  volatile uint32_t ACR;
  volatile uint32_t PECR;
  volatile uint32_t PDKEYR;
  volatile uint32_t PEKEYR;
  volatile uint32_t PRGKEYR;
  volatile uint32_t OPTKEYR;
  volatile uint32_t SR;
} FLASH_TypeDef;

typedef struct {
  volatile uint32_t CR;
  volatile uint32_t CSR;
} PWR_TypeDef;

typedef struct {
  volatile uint32_t CSELR;
} DMA_Request_TypeDef;

#define RCC_BASE 0x40021000u
#define FLASH_BASE 0x08000000u
#define FLASH_R_BASE 0x40022000u
#define CRC_BASE 0x40023000u
#define PWR_BASE 0x40007000u
#define RTC_BASE 0x40002800u
#define SYSCFG_BASE 0x40010000u
#define EXTI_BASE 0x40010400u
#define IWDG_BASE 0x40003000u
#define TIM2_BASE 0x40000000u
#define TIM21_BASE 0x40010800u
#define GPIOA_BASE 0x50000000u
#define GPIOB_BASE 0x50000400u
#define GPIOC_BASE 0x50000800u
#define GPIOD_BASE 0x50000C00u
#define GPIOE_BASE 0x50001000u
#define GPIOH_BASE 0x50001C00u
#define USART1_BASE 0x40013800u
#define USART2_BASE 0x40004400u
#define USART4_BASE 0x40004C00u
#define USART5_BASE 0x40005000u
#define LPUART1_BASE 0x40004800u
#define DMA1_BASE 0x40020000u
#define DMA1_CSELR_BASE 0x400200A8u

#define DMA1_CSELR ((DMA_Request_TypeDef *)DMA1_CSELR_BASE)

#define FLASH ((FLASH_TypeDef *)FLASH_R_BASE)

#define RCC_CR_HSION (1u << 0)
#define RCC_CR_HSIRDY (1u << 2)
#define RCC_CR_HSEON (1u << 16)
#define RCC_CR_HSERDY (1u << 17)
#define RCC_CR_HSEBYP (1u << 18)
#define RCC_CR_PLLON (1u << 24)
#define RCC_CR_PLLRDY (1u << 25)
#define RCC_CFGR_SW (3u << 0)
#define RCC_CFGR_SW_PLL (3u << 0)
#define RCC_CFGR_SWS (3u << 2)
#define RCC_CFGR_SWS_PLL (3u << 2)
#define RCC_CFGR_HPRE_Pos 4u
#define RCC_CFGR_PPRE1_Pos 8u
#define RCC_CFGR_PPRE2_Pos 11u
#define RCC_CFGR_STOPWUCK (1u << 15)
#define RCC_CFGR_PLLSRC_HSE (1u << 16)
#define RCC_CFGR_PLLMUL_Pos 18u
#define RCC_CFGR_PLLDIV_Pos 22u
#define RCC_IOPENR_GPIOAEN (1u << 0)
#define RCC_IOPENR_GPIOBEN (1u << 1)
#define RCC_IOPENR_GPIOCEN (1u << 2)
#define RCC_IOPENR_GPIODEN (1u << 3)
#define RCC_IOPENR_GPIOEEN (1u << 4)
#define RCC_IOPENR_GPIOHEN (1u << 7)
#define RCC_AHBENR_DMA1EN (1u << 0)
#define RCC_AHBENR_CRCEN (1u << 12)
#define RCC_APB2ENR_SYSCFGEN (1u << 0)
#define RCC_APB2ENR_TIM21EN (1u << 2)
#define RCC_APB2ENR_USART1EN (1u << 14)
#define RCC_APB2ENR_DBGMCUEN (1u << 22)
#define RCC_APB1ENR_TIM2EN (1u << 0)
#define RCC_APB1ENR_USART2EN (1u << 17)
#define RCC_APB1ENR_LPUART1EN (1u << 18)
#define RCC_APB1ENR_USART4EN (1u << 19)
#define RCC_APB1ENR_USART5EN (1u << 20)
#define RCC_APB1ENR_PWREN (1u << 28)
#define RCC_CSR_LSION (1u << 0)
#define RCC_CSR_LSIRDY (1u << 1)
#define RCC_CSR_RTCSEL (3u << 16)
#define RCC_CSR_RTCSEL_1 (2u << 16)
#define RCC_CSR_RTCEN (1u << 18)
#define RCC_CSR_RTCRST (1u << 19)
#define RCC_CSR_RMVF (1u << 23)
#define RCC_CSR_PINRSTF (1u << 26)
#define RCC_CSR_PORRSTF (1u << 27)
#define RCC_CSR_SFTRSTF (1u << 28)
#define RCC_CSR_IWDGRSTF (1u << 29)

#define FLASH_ACR_LATENCY (1u << 0)
#define FLASH_ACR_PRFTEN (1u << 1)
#define FLASH_PECR_PELOCK (1u << 0)
#define FLASH_PECR_PRGLOCK (1u << 1)
#define FLASH_PECR_PROG (1u << 3)
#define FLASH_PECR_ERASE (1u << 9)
#define FLASH_SR_BSY (1u << 0)
#define FLASH_SR_WRPERR (1u << 8)
#define FLASH_SR_PGAERR (1u << 9)
#define FLASH_SR_SIZERR (1u << 10)
#define FLASH_SR_OPTVERR (1u << 11)
#define FLASH_SR_RDERR (1u << 13)
#define FLASH_SR_NOTZEROERR (1u << 16)
#define FLASH_SR_FWWERR (1u << 17)

#define PWR_CR_LPSDSR (1u << 0)
#define PWR_CR_PDDS (1u << 1)
#define PWR_CR_CWUF (1u << 2)
#define PWR_CR_DBP (1u << 8)
#define PWR_CR_VOS (3u << 11)
#define PWR_CR_VOS_Pos 11u
#define PWR_CSR_VOSF (1u << 4)

#endif
