/* The used registers of the STM32WB, by RM0434 (WB55), with ST's names. */
#ifndef STM32WB_REGISTERS_H
#define STM32WB_REGISTERS_H

#define __CORTEX_M 4
#define __NVIC_PRIO_BITS 4
#define RCC_HAS_SECOND_CORE
#include "cortex_m.h"
#include "flash_control_registers.h"
#include "flash_pages_registers.h"
#include "pll_r_registers.h"
#include "rtc_v2_registers.h"
#include "syscfg_registers.h"
#include "usart_v2_combined_registers.h"

typedef struct {
  volatile uint32_t CR1;
  volatile uint32_t reserved_0[31];
  volatile uint32_t C2CR1; /* 0x80 */
} PWR_TypeDef;

typedef struct {
  volatile uint32_t RTSR1;
  volatile uint32_t FTSR1;
  volatile uint32_t SWIER1;
  volatile uint32_t PR1;
  volatile uint32_t reserved_0[28];
  volatile uint32_t IMR1; /* 0x80 */
} EXTI_TypeDef;

#define RCC_BASE 0x58000000u
#define FLASH_REG_BASE 0x58004000u
#define PWR_BASE 0x58000400u
#define SYSCFG_BASE 0x40010000u
#define EXTI_BASE 0x58000800u
#define GPIOA_BASE 0x48000000u
#define GPIOB_BASE 0x48000400u
#define GPIOC_BASE 0x48000800u
#define GPIOD_BASE 0x48000C00u
#define GPIOE_BASE 0x48001000u
#define GPIOH_BASE 0x48001C00u

#define FLASH ((FLASH_TypeDef *)FLASH_REG_BASE)

#define RCC_CFGR_SW (3u << 0)
#define RCC_CFGR_STOPWUCK (1u << 15)
#define RCC_PLLCFGR_PLLSRC (3u << 0)
#define RCC_PLLCFGR_PLLSRC_1 (2u << 0)
#define RCC_PLLCFGR_PLLREN (1u << 28)
#define RCC_PLLCFGR_PLLR_Pos 29u
#define RCC_EXTCFGR_C2HPRE_3 (8u << 4)
#define RCC_AHB2ENR_GPIOHEN (1u << 7)
#define RCC_CSR_LSI1ON (1u << 0)
#define RCC_CSR_LSI1RDY (1u << 1)

#define FLASH_ACR_DCEN (1u << 10)
#define FLASH_ACR_DCRST (1u << 12)
#define FLASH_SR_BSY (1u << 16)
#define FLASH_SR_CFGBSY (1u << 18)

#define PWR_CR1_LPMS_1 (2u << 0)
#define PWR_C2CR1_LPMS (7u << 0)
#define PWR_C2CR1_LPMS_1 (2u << 0)

#endif
