/* The used registers of the STM32F1, by RM0008 (F101 to F103) and RM0041 (F100), with ST's names. */
#ifndef STM32F1_REGISTERS_H
#define STM32F1_REGISTERS_H

#define __CORTEX_M 3
#define __NVIC_PRIO_BITS 4
#define CORE_WITHOUT_MPU
#include "cortex_m.h"
#include "crc_registers.h"
#include "dma_channels_registers.h"
#include "iwdg_registers.h"
#include "usart_v1_registers.h"

typedef struct {
  volatile uint32_t CR;
  volatile uint32_t CFGR;
  volatile uint32_t reserved_0[3];
  volatile uint32_t AHBENR; /* 0x14 */
  volatile uint32_t APB2ENR;
  volatile uint32_t APB1ENR;
  volatile uint32_t BDCR;
  volatile uint32_t CSR;
} RCC_TypeDef;

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

typedef struct {
  volatile uint32_t CRL;
  volatile uint32_t CRH;
  volatile uint32_t IDR;
  volatile uint32_t ODR;
  volatile uint32_t BSRR;
} GPIO_TypeDef;

typedef struct {
  volatile uint32_t reserved_0;
  volatile uint32_t MAPR;
  volatile uint32_t EXTICR[4];
} AFIO_TypeDef;

typedef struct {
  volatile uint32_t IMR;
  volatile uint32_t EMR;
  volatile uint32_t RTSR;
  volatile uint32_t FTSR;
  volatile uint32_t SWIER;
  volatile uint32_t PR;
} EXTI_TypeDef;

typedef struct {
  volatile uint32_t CRH;
  volatile uint32_t CRL;
  volatile uint32_t PRLH;
  volatile uint32_t PRLL;
  volatile uint32_t DIVH;
  volatile uint32_t DIVL;
  volatile uint32_t CNTH;
  volatile uint32_t CNTL;
  volatile uint32_t ALRH;
  volatile uint32_t ALRL;
} RTC_TypeDef;

#define RCC_BASE 0x40021000u
#define FLASH_BASE 0x08000000u
#define FLASH_R_BASE 0x40022000u
#define CRC_BASE 0x40023000u
#define PWR_BASE 0x40007000u
#define RTC_BASE 0x40002800u
#define AFIO_BASE 0x40010000u
#define EXTI_BASE 0x40010400u
#define IWDG_BASE 0x40003000u
#define GPIOA_BASE 0x40010800u
#define GPIOB_BASE 0x40010C00u
#define GPIOC_BASE 0x40011000u
#define GPIOD_BASE 0x40011400u
#define GPIOE_BASE 0x40011800u
#define USART1_BASE 0x40013800u
#define USART2_BASE 0x40004400u
#define USART3_BASE 0x40004800u
#define UART4_BASE 0x40004C00u
#define DMA1_BASE 0x40020000u
#define DMA2_BASE 0x40020400u
#define DMA2_Channel3_BASE 0x40020430u
#define DMA2_Channel5_BASE 0x40020458u

#define RCC ((RCC_TypeDef *)RCC_BASE)
#define FLASH ((FLASH_TypeDef *)FLASH_R_BASE)
#define CRC ((CRC_TypeDef *)CRC_BASE)
#define PWR ((PWR_TypeDef *)PWR_BASE)
#define RTC ((RTC_TypeDef *)RTC_BASE)
#define AFIO ((AFIO_TypeDef *)AFIO_BASE)
#define EXTI ((EXTI_TypeDef *)EXTI_BASE)
#define IWDG ((IWDG_TypeDef *)IWDG_BASE)
#define GPIOA ((GPIO_TypeDef *)GPIOA_BASE)
#define GPIOB ((GPIO_TypeDef *)GPIOB_BASE)
#define GPIOC ((GPIO_TypeDef *)GPIOC_BASE)
#define GPIOD ((GPIO_TypeDef *)GPIOD_BASE)
#define GPIOE ((GPIO_TypeDef *)GPIOE_BASE)
#define USART1 ((USART_TypeDef *)USART1_BASE)
#define USART2 ((USART_TypeDef *)USART2_BASE)
#define USART3 ((USART_TypeDef *)USART3_BASE)
#define UART4 ((USART_TypeDef *)UART4_BASE)
#define DMA1 ((DMA_TypeDef *)DMA1_BASE)
#define DMA2 ((DMA_TypeDef *)DMA2_BASE)
#define DMA2_Channel3 ((DMA_Channel_TypeDef *)DMA2_Channel3_BASE)
#define DMA2_Channel5 ((DMA_Channel_TypeDef *)DMA2_Channel5_BASE)

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
#define RCC_CFGR_PPRE1_Pos 8u
#define RCC_CFGR_PPRE2_Pos 11u
#define RCC_CFGR_PLLSRC (1u << 16)
#define RCC_CFGR_PLLXTPRE (1u << 17)
#define RCC_CFGR_PLLMULL_Pos 18u
#define RCC_AHBENR_DMA1EN (1u << 0)
#define RCC_AHBENR_DMA2EN (1u << 1)
#define RCC_AHBENR_CRCEN (1u << 6)
#define RCC_APB2ENR_AFIOEN (1u << 0)
#define RCC_APB2ENR_IOPAEN (1u << 2)
#define RCC_APB2ENR_IOPBEN (1u << 3)
#define RCC_APB2ENR_IOPCEN (1u << 4)
#define RCC_APB2ENR_IOPDEN (1u << 5)
#define RCC_APB2ENR_IOPEEN (1u << 6)
#define RCC_APB2ENR_USART1EN (1u << 14)
#define RCC_APB1ENR_USART2EN (1u << 17)
#define RCC_APB1ENR_USART3EN (1u << 18)
#define RCC_APB1ENR_UART4EN (1u << 19)
#define RCC_APB1ENR_BKPEN (1u << 27)
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

#define FLASH_ACR_LATENCY (7u << 0)
#define FLASH_ACR_PRFTBE (1u << 4)
#define FLASH_SR_BSY (1u << 0)
#define FLASH_SR_PGERR (1u << 2)
#define FLASH_SR_WRPRTERR (1u << 4)
#define FLASH_CR_PG (1u << 0)
#define FLASH_CR_PER (1u << 1)
#define FLASH_CR_STRT (1u << 6)
#define FLASH_CR_LOCK (1u << 7)

#define PWR_CR_LPDS (1u << 0)
#define PWR_CR_PDDS (1u << 1)
#define PWR_CR_CWUF (1u << 2)
#define PWR_CR_DBP (1u << 8)

#define AFIO_MAPR_SWJ_CFG (7u << 24)

#define RTC_CRH_ALRIE (1u << 1)
#define RTC_CRL_ALRF (1u << 1)
#define RTC_CRL_RSF (1u << 3)
#define RTC_CRL_CNF (1u << 4)
#define RTC_CRL_RTOFF (1u << 5)

#endif
