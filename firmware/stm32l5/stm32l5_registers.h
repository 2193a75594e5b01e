/* The used registers of the STM32L5, by RM0438 (L552, L562), with ST's names; at the addresses for code that is not
 * secure.
 */
#ifndef STM32L5_REGISTERS_H
#define STM32L5_REGISTERS_H

#define __CORTEX_M 33
#define __NVIC_PRIO_BITS 3
#define DMA_HAS_TWO_MEMORIES
#include "cortex_m.h"
#include "crc_registers.h"
#include "crc_v2_registers.h"
#include "dma_channels_registers.h"
#include "dmamux_registers.h"
#include "gpio_registers.h"
#include "icache_registers.h"
#include "iwdg_registers.h"
#include "rtc_v3_registers.h"
#include "usart_v2_combined_registers.h"
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
} RCC_TypeDef;

typedef struct {
  volatile uint32_t ACR;
  volatile uint32_t reserved_0;
  volatile uint32_t NSKEYR; /* 0x08 */
  volatile uint32_t reserved_1[5];
  volatile uint32_t NSSR; /* 0x20 */
  volatile uint32_t reserved_2;
  volatile uint32_t NSCR; /* 0x28 */
  volatile uint32_t reserved_3;
  volatile uint32_t ECCR; /* 0x30 */
  volatile uint32_t reserved_4[3];
  volatile uint32_t OPTR; /* 0x40 */
} FLASH_TypeDef;

typedef struct {
  volatile uint32_t CR1;
  volatile uint32_t CR2;
  volatile uint32_t reserved_0[3];
  volatile uint32_t SR2; /* 0x14 */
} PWR_TypeDef;

typedef struct {
  volatile uint32_t RTSR1;
  volatile uint32_t FTSR1;
  volatile uint32_t reserved_0[2];
  volatile uint32_t FPR1; /* 0x10 */
  volatile uint32_t reserved_1[19];
  volatile uint32_t EXTICR[4]; /* 0x60 */
  volatile uint32_t reserved_2[4];
  volatile uint32_t IMR1; /* 0x80 */
} EXTI_TypeDef;

#define RCC_BASE 0x40021000u
#define FLASH_BASE 0x08000000u
#define FLASH_R_BASE 0x40022000u
#define CRC_BASE 0x40023000u
#define ICACHE_BASE 0x40030400u
#define PWR_BASE 0x40007000u
#define RTC_BASE 0x40002800u
#define EXTI_BASE 0x4002F400u
#define IWDG_BASE 0x40003000u
#define GPIOA_BASE 0x42020000u
#define GPIOB_BASE 0x42020400u
#define GPIOC_BASE 0x42020800u
#define GPIOD_BASE 0x42020C00u
#define GPIOE_BASE 0x42021000u
#define GPIOF_BASE 0x42021400u
#define GPIOG_BASE 0x42021800u
#define GPIOH_BASE 0x42021C00u
#define USART1_BASE 0x40013800u
#define USART2_BASE 0x40004400u
#define USART3_BASE 0x40004800u
#define UART4_BASE 0x40004C00u
#define UART5_BASE 0x40005000u
#define LPUART1_BASE 0x40008000u
#define DMA1_BASE 0x40020000u
#define DMA2_BASE 0x40020400u
#define DMA1_Channel8_BASE 0x40020094u
#define DMA2_Channel1_BASE 0x40020408u
#define DMA2_Channel2_BASE 0x4002041Cu
#define DMA2_Channel3_BASE 0x40020430u
#define DMA2_Channel4_BASE 0x40020444u
#define DMA2_Channel5_BASE 0x40020458u
#define DMA2_Channel6_BASE 0x4002046Cu
#define DMA2_Channel7_BASE 0x40020480u
#define DMA2_Channel8_BASE 0x40020494u
#define DMAMUX1_Channel0_BASE 0x40020800u
#define DMAMUX1_Channel1_BASE 0x40020804u
#define DMAMUX1_Channel2_BASE 0x40020808u
#define DMAMUX1_Channel3_BASE 0x4002080Cu
#define DMAMUX1_Channel4_BASE 0x40020810u
#define DMAMUX1_Channel5_BASE 0x40020814u
#define DMAMUX1_Channel6_BASE 0x40020818u
#define DMAMUX1_Channel7_BASE 0x4002081Cu
#define DMAMUX1_Channel8_BASE 0x40020820u
#define DMAMUX1_Channel9_BASE 0x40020824u
#define DMAMUX1_Channel10_BASE 0x40020828u
#define DMAMUX1_Channel11_BASE 0x4002082Cu
#define DMAMUX1_Channel12_BASE 0x40020830u
#define DMAMUX1_Channel13_BASE 0x40020834u
#define DMAMUX1_Channel14_BASE 0x40020838u
#define DMAMUX1_Channel15_BASE 0x4002083Cu

#define RCC ((RCC_TypeDef *)RCC_BASE)
#define FLASH ((FLASH_TypeDef *)FLASH_R_BASE)
#define CRC ((CRC_TypeDef *)CRC_BASE)
#define ICACHE ((ICACHE_TypeDef *)ICACHE_BASE)
#define PWR ((PWR_TypeDef *)PWR_BASE)
#define RTC ((RTC_TypeDef *)RTC_BASE)
#define EXTI ((EXTI_TypeDef *)EXTI_BASE)
#define IWDG ((IWDG_TypeDef *)IWDG_BASE)
#define GPIOA ((GPIO_TypeDef *)GPIOA_BASE)
#define GPIOB ((GPIO_TypeDef *)GPIOB_BASE)
#define GPIOC ((GPIO_TypeDef *)GPIOC_BASE)
#define GPIOD ((GPIO_TypeDef *)GPIOD_BASE)
#define GPIOE ((GPIO_TypeDef *)GPIOE_BASE)
#define GPIOF ((GPIO_TypeDef *)GPIOF_BASE)
#define GPIOG ((GPIO_TypeDef *)GPIOG_BASE)
#define GPIOH ((GPIO_TypeDef *)GPIOH_BASE)
#define USART1 ((USART_TypeDef *)USART1_BASE)
#define USART2 ((USART_TypeDef *)USART2_BASE)
#define USART3 ((USART_TypeDef *)USART3_BASE)
#define UART4 ((USART_TypeDef *)UART4_BASE)
#define UART5 ((USART_TypeDef *)UART5_BASE)
#define LPUART1 ((USART_TypeDef *)LPUART1_BASE)
#define DMA1 ((DMA_TypeDef *)DMA1_BASE)
#define DMA2 ((DMA_TypeDef *)DMA2_BASE)
#define DMA1_Channel8 ((DMA_Channel_TypeDef *)DMA1_Channel8_BASE)
#define DMA2_Channel1 ((DMA_Channel_TypeDef *)DMA2_Channel1_BASE)
#define DMA2_Channel2 ((DMA_Channel_TypeDef *)DMA2_Channel2_BASE)
#define DMA2_Channel3 ((DMA_Channel_TypeDef *)DMA2_Channel3_BASE)
#define DMA2_Channel4 ((DMA_Channel_TypeDef *)DMA2_Channel4_BASE)
#define DMA2_Channel5 ((DMA_Channel_TypeDef *)DMA2_Channel5_BASE)
#define DMA2_Channel6 ((DMA_Channel_TypeDef *)DMA2_Channel6_BASE)
#define DMA2_Channel7 ((DMA_Channel_TypeDef *)DMA2_Channel7_BASE)
#define DMA2_Channel8 ((DMA_Channel_TypeDef *)DMA2_Channel8_BASE)

#define RCC_CR_HSION (1u << 8)
#define RCC_CR_HSIRDY (1u << 10)
#define RCC_CR_HSEON (1u << 16)
#define RCC_CR_HSERDY (1u << 17)
#define RCC_CR_HSEBYP (1u << 18)
#define RCC_CR_PLLON (1u << 24)
#define RCC_CR_PLLRDY (1u << 25)
#define RCC_CFGR_SW (3u << 0)
#define RCC_CFGR_SWS (3u << 2)
#define RCC_CFGR_STOPWUCK (1u << 15)
#define RCC_CFGR_HPRE_Pos 4u
#define RCC_CFGR_PPRE1_Pos 8u
#define RCC_CFGR_PPRE2_Pos 11u
#define RCC_PLLCFGR_PLLSRC (3u << 0)
#define RCC_PLLCFGR_PLLSRC_1 (2u << 0)
#define RCC_PLLCFGR_PLLM_Pos 4u
#define RCC_PLLCFGR_PLLN_Pos 8u
#define RCC_PLLCFGR_PLLREN (1u << 24)
#define RCC_PLLCFGR_PLLR_Pos 25u
#define RCC_AHB1ENR_DMA1EN (1u << 0)
#define RCC_AHB1ENR_DMA2EN (1u << 1)
#define RCC_AHB1ENR_CRCEN (1u << 12)
#define RCC_AHB1ENR_DMAMUX1EN (1u << 2)
#define RCC_AHB2ENR_GPIOAEN (1u << 0)
#define RCC_AHB2ENR_GPIOBEN (1u << 1)
#define RCC_AHB2ENR_GPIOCEN (1u << 2)
#define RCC_AHB2ENR_GPIODEN (1u << 3)
#define RCC_AHB2ENR_GPIOEEN (1u << 4)
#define RCC_AHB2ENR_GPIOFEN (1u << 5)
#define RCC_AHB2ENR_GPIOGEN (1u << 6)
#define RCC_AHB2ENR_GPIOHEN (1u << 7)
#define RCC_APB1ENR1_RTCAPBEN (1u << 10)
#define RCC_APB1ENR1_USART2EN (1u << 17)
#define RCC_APB1ENR1_USART3EN (1u << 18)
#define RCC_APB1ENR1_UART4EN (1u << 19)
#define RCC_APB1ENR1_UART5EN (1u << 20)
#define RCC_APB1ENR1_PWREN (1u << 28)
#define RCC_APB1ENR2_LPUART1EN (1u << 0)
#define RCC_APB2ENR_USART1EN (1u << 14)

#define RCC_CSR_LSION (1u << 0)
#define RCC_CSR_LSIRDY (1u << 1)
#define RCC_BDCR_RTCSEL (3u << 8)
#define RCC_BDCR_RTCSEL_1 (2u << 8)
#define RCC_BDCR_RTCEN (1u << 15)
#define RCC_BDCR_BDRST (1u << 16)
#define RCC_CSR_RMVF (1u << 23)
#define RCC_CSR_PINRSTF (1u << 26)
#define RCC_CSR_BORRSTF (1u << 27)
#define RCC_CSR_SFTRSTF (1u << 28)
#define RCC_CSR_IWDGRSTF (1u << 29)

#define FLASH_ACR_LATENCY (15u << 0)
#define FLASH_NSSR_NSBSY (1u << 16)
#define FLASH_NSCR_NSPG (1u << 0)
#define FLASH_NSCR_NSPER (1u << 1)
#define FLASH_NSCR_NSPNB_Pos 3u
#define FLASH_NSCR_NSBKER (1u << 11)
#define FLASH_NSCR_NSSTRT (1u << 16)
#define FLASH_NSCR_NSLOCK (1u << 31)
#define FLASH_ECCR_ECCC (1u << 30)
#define FLASH_ECCR_ECCD (1u << 31)
#define FLASH_OPTR_DBANK (1u << 22)
#define FLASH_OPTR_TZEN (1u << 31)

#define PWR_CR1_LPMS (7u << 0)
#define PWR_CR1_LPMS_1 (2u << 0)
#define PWR_CR1_DBP (1u << 8)
#define PWR_CR1_VOS (3u << 9)
#define PWR_CR1_VOS_Pos 9u
#define PWR_CR2_IOSV (1u << 9)
#define PWR_SR2_VOSF (1u << 10)

#endif
