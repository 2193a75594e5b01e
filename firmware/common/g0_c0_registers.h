/* What the registers of the STM32G0 and C0 have in common, by RM0444 and RM0490, with ST's names. */
#ifndef G0_C0_REGISTERS_H
#define G0_C0_REGISTERS_H

#define __CORTEX_M 0
#define __NVIC_PRIO_BITS 2
#include "cortex_m.h"
#include "crc_registers.h"
#include "crc_v2_registers.h"
#include "dma_channels_registers.h"
#include "dmamux_registers.h"
#include "flash_control_registers.h"
#include "flash_erase_registers.h"
#include "gpio_registers.h"
#include "iwdg_registers.h"
#include "tim_registers.h"
#include "usart_v2_combined_registers.h"
#include "usart_v2_registers.h"

typedef struct {
  volatile uint32_t CR1;
} PWR_TypeDef;

typedef struct {
  volatile uint32_t RTSR1;
  volatile uint32_t FTSR1;
  volatile uint32_t SWIER1;
  volatile uint32_t RPR1;
  volatile uint32_t FPR1;
  volatile uint32_t reserved_0[19];
  volatile uint32_t EXTICR[4]; /* 0x60 */
  volatile uint32_t reserved_1[4];
  volatile uint32_t IMR1; /* 0x80 */
} EXTI_TypeDef;

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
#define DMAMUX1_Channel0_BASE 0x40020800u
#define DMAMUX1_Channel1_BASE 0x40020804u
#define DMAMUX1_Channel2_BASE 0x40020808u
#define DMAMUX1_Channel3_BASE 0x4002080Cu
#define DMAMUX1_Channel4_BASE 0x40020810u
#define DMAMUX1_Channel5_BASE 0x40020814u
#define DMAMUX1_Channel6_BASE 0x40020818u

#define RCC ((RCC_TypeDef *)RCC_BASE)
#define PWR ((PWR_TypeDef *)PWR_BASE)
#define RTC ((RTC_TypeDef *)RTC_BASE)
#define EXTI ((EXTI_TypeDef *)EXTI_BASE)
#define FLASH ((FLASH_TypeDef *)FLASH_R_BASE)
#define CRC ((CRC_TypeDef *)CRC_BASE)
#define IWDG ((IWDG_TypeDef *)IWDG_BASE)
#define GPIOA ((GPIO_TypeDef *)GPIOA_BASE)
#define GPIOB ((GPIO_TypeDef *)GPIOB_BASE)
#define GPIOC ((GPIO_TypeDef *)GPIOC_BASE)
#define GPIOD ((GPIO_TypeDef *)GPIOD_BASE)
#define GPIOF ((GPIO_TypeDef *)GPIOF_BASE)
#define USART1 ((USART_TypeDef *)USART1_BASE)
#define USART2 ((USART_TypeDef *)USART2_BASE)
#define USART3 ((USART_TypeDef *)USART3_BASE)
#define USART4 ((USART_TypeDef *)USART4_BASE)
#define DMA1 ((DMA_TypeDef *)DMA1_BASE)

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
