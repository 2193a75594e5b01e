/* The used registers of the STM32F1, by RM0008 (F101 to F103) and RM0041 (F100), with ST's names. */
#ifndef STM32F1_REGISTERS_H
#define STM32F1_REGISTERS_H

#define __CORTEX_M 3
#define __NVIC_PRIO_BITS 4
#define CORE_WITHOUT_MPU
#include "f0_f1_f3_registers.h"
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

#define AFIO_BASE 0x40010000u
#define GPIOA_BASE 0x40010800u
#define GPIOB_BASE 0x40010C00u
#define GPIOC_BASE 0x40011000u
#define GPIOD_BASE 0x40011400u
#define GPIOE_BASE 0x40011800u
#define UART4_BASE 0x40004C00u

#define RCC_CFGR_PPRE1_Pos 8u
#define RCC_CFGR_PPRE2_Pos 11u
#define RCC_CFGR_PLLSRC (1u << 16)
#define RCC_CFGR_PLLXTPRE (1u << 17)
#define RCC_CFGR_PLLMULL_Pos 18u
#define RCC_APB2ENR_AFIOEN (1u << 0)
#define RCC_APB2ENR_IOPAEN (1u << 2)
#define RCC_APB2ENR_IOPBEN (1u << 3)
#define RCC_APB2ENR_IOPCEN (1u << 4)
#define RCC_APB2ENR_IOPDEN (1u << 5)
#define RCC_APB2ENR_IOPEEN (1u << 6)
#define RCC_APB1ENR_UART4EN (1u << 19)
#define RCC_APB1ENR_BKPEN (1u << 27)

#define FLASH_ACR_LATENCY (7u << 0)
#define FLASH_SR_WRPRTERR (1u << 4)

#define AFIO_MAPR_SWJ_CFG (7u << 24)

#define RTC_CRH_ALRIE (1u << 1)
#define RTC_CRL_ALRF (1u << 1)
#define RTC_CRL_RSF (1u << 3)
#define RTC_CRL_CNF (1u << 4)
#define RTC_CRL_RTOFF (1u << 5)

#endif
