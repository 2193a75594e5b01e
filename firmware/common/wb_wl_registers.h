/* What the STM32WB and WL have in common, at the same addresses, with ST's names: RM0434, RM0453. */
#ifndef WB_WL_REGISTERS_H
#define WB_WL_REGISTERS_H

#define __CORTEX_M 4
#define __NVIC_PRIO_BITS 4
#include "cortex_m.h"
#include "flash_control_registers.h"
#include "flash_pages_registers.h"
#include "pll_r_registers.h"
#include "syscfg_registers.h"
#include "usart_v2_combined_registers.h"

typedef struct {
  volatile uint32_t CR1;
  volatile uint32_t reserved_0[31];
  volatile uint32_t C2CR1; /* 0x80, of parts with two cores */
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
#define GPIOH_BASE 0x48001C00u

#define FLASH ((FLASH_TypeDef *)FLASH_REG_BASE)

#define RCC_CFGR_SW (3u << 0)
#define RCC_CFGR_STOPWUCK (1u << 15)
#define RCC_PLLCFGR_PLLSRC (3u << 0)
#define RCC_PLLCFGR_PLLSRC_1 (2u << 0)
#define RCC_PLLCFGR_PLLREN (1u << 28)
#define RCC_PLLCFGR_PLLR_Pos 29u
#define RCC_AHB2ENR_GPIOHEN (1u << 7)

#define FLASH_ACR_DCEN (1u << 10)
#define FLASH_ACR_DCRST (1u << 12)
#define FLASH_SR_BSY (1u << 16)
#define FLASH_SR_CFGBSY (1u << 18)

#endif
