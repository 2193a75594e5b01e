/* The used registers of the STM32G0, by RM0444, with ST's names. */
#ifndef STM32G0_REGISTERS_H
#define STM32G0_REGISTERS_H

#include "flash_pages_registers.h"
#include "g0_c0_registers.h"
#include "rtc_v3_registers.h"

typedef struct {
  volatile uint32_t CR;
  volatile uint32_t ICSCR;
  volatile uint32_t CFGR;
  volatile uint32_t PLLCFGR;
  volatile uint32_t reserved_0[9];
  volatile uint32_t IOPENR; /* 0x34 */
  volatile uint32_t AHBENR;
  volatile uint32_t APBENR1;
  volatile uint32_t APBENR2;
  volatile uint32_t reserved_1[6];
  volatile uint32_t BDCR; /* 0x5C */
  volatile uint32_t CSR;
} RCC_TypeDef;

#define TIM2_BASE 0x40000000u
#define LPUART1_BASE 0x40008000u

#define RCC_CR_PLLON (1u << 24)
#define RCC_CR_PLLRDY (1u << 25)
#define RCC_CFGR_SW_1 (2u << 0) /* only this bit: PLL output R */
#define RCC_CFGR_SWS_1 (2u << 3)
#define RCC_PLLCFGR_PLLSRC_HSI (2u << 0)
#define RCC_PLLCFGR_PLLSRC_HSE (3u << 0)
#define RCC_PLLCFGR_PLLM_Pos 4u
#define RCC_PLLCFGR_PLLN_Pos 8u
#define RCC_PLLCFGR_PLLREN (1u << 28)
#define RCC_PLLCFGR_PLLR_Pos 29u
#define RCC_APBENR1_TIM2EN (1u << 0)
#define RCC_APBENR1_LPUART1EN (1u << 20)
#define RCC_CSR_LSION (1u << 0)
#define RCC_CSR_LSIRDY (1u << 1)
#define RCC_BDCR_RTCSEL (3u << 8)
#define RCC_BDCR_RTCSEL_1 (2u << 8)
#define RCC_BDCR_RTCEN (1u << 15)
#define RCC_BDCR_BDRST (1u << 16)
#define RCC_CSR_RMVF (1u << 23)
#define RCC_CSR_PINRSTF (1u << 26)
#define RCC_CSR_PWRRSTF (1u << 27)
#define RCC_CSR_SFTRSTF (1u << 28)
#define RCC_CSR_IWDGRSTF (1u << 29)

#define PWR_CR1_DBP (1u << 8)

#endif
