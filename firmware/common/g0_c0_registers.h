/* What the registers of the STM32G0 and C0 have in common, by RM0444 and RM0490, with ST's names. */
#ifndef G0_C0_REGISTERS_H
#define G0_C0_REGISTERS_H

#define __CORTEX_M 0
#define __NVIC_PRIO_BITS 2
#define DMAMUX_UP_TO_7
#include "cortex_m.h"
#include "crc_registers.h"
#include "crc_v2_registers.h"
#include "dma_channels_registers.h"
#include "dmamux_registers.h"
#include "exti_v2_registers.h"
#include "flash_control_registers.h"
#include "flash_erase_registers.h"
#include "gpio_registers.h"
#include "iwdg_registers.h"
#include "peripheral_registers.h"
#include "tim_registers.h"
#include "usart_v2_combined_registers.h"
#include "usart_v2_registers.h"

typedef struct {
  volatile uint32_t CR1;
} PWR_TypeDef;

#define RCC_BASE 0x40021000u
#define FLASH_BASE 0x08000000u
#define FLASH_R_BASE 0x40022000u
#define CRC_BASE 0x40023000u
#define IWDG_BASE 0x40003000u
#define PWR_BASE 0x40007000u
#define RTC_BASE 0x40002800u
#define EXTI_BASE 0x40021800u
#define GPIOA_BASE 0x50000000u
#define GPIOB_BASE 0x50000400u
#define GPIOC_BASE 0x50000800u
#define GPIOD_BASE 0x50000C00u
#define GPIOF_BASE 0x50001400u
#define USART1_BASE 0x40013800u
#define USART2_BASE 0x40004400u
#define USART3_BASE 0x40004800u
#define USART4_BASE 0x40004C00u
#define DMA1_BASE 0x40020000u

#define FLASH ((FLASH_TypeDef *)FLASH_R_BASE)

#define RCC_CR_HSION (1u << 8)
#define RCC_CR_HSIRDY (1u << 10)
#define RCC_CR_HSEON (1u << 16)
#define RCC_CR_HSERDY (1u << 17)
#define RCC_CR_HSEBYP (1u << 18)
#define RCC_CFGR_SW (7u << 0)
#define RCC_CFGR_SWS (7u << 3)
#define RCC_CFGR_HPRE_Pos 8u
#define RCC_CFGR_PPRE_Pos 12u
#define RCC_IOPENR_GPIOAEN (1u << 0)
#define RCC_IOPENR_GPIOBEN (1u << 1)
#define RCC_IOPENR_GPIOCEN (1u << 2)
#define RCC_IOPENR_GPIODEN (1u << 3)
#define RCC_IOPENR_GPIOFEN (1u << 5)
#define RCC_AHBENR_DMA1EN (1u << 0)
#define RCC_AHBENR_CRCEN (1u << 12)
#define RCC_APBENR1_RTCAPBEN (1u << 10)
#define RCC_APBENR1_USART2EN (1u << 17)
#define RCC_APBENR1_USART3EN (1u << 18)
#define RCC_APBENR1_USART4EN (1u << 19)
#define RCC_APBENR1_DBGEN (1u << 27)
#define RCC_APBENR1_PWREN (1u << 28)
#define RCC_APBENR2_USART1EN (1u << 14)

#define FLASH_ACR_LATENCY (7u << 0)
#define FLASH_SR_BSY1 (1u << 16)
#define FLASH_SR_CFGBSY (1u << 18)
#define PWR_CR1_LPMS (7u << 0)
#define PWR_CR1_LPMS_0 (1u << 0)

#endif
