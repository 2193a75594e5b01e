/* The used registers of the STM32F4, by RM0368 (F401) and RM0390 (F446), with ST's names. */
#ifndef STM32F4_REGISTERS_H
#define STM32F4_REGISTERS_H

#define __CORTEX_M 4
#define __NVIC_PRIO_BITS 4
#include "cortex_m.h"
#include "flash_control_registers.h"
#include "stm32f4_f7_registers.h"
#include "usart_v1_registers.h"

typedef struct {
  volatile uint32_t CR;
  volatile uint32_t CSR;
} PWR_TypeDef;

#define FLASH_ACR_DCEN (1u << 10)
#define FLASH_ACR_DCRST (1u << 12)

#define PWR_CR_LPDS (1u << 0)
#define PWR_CR_PDDS (1u << 1)
#define PWR_CR_DBP (1u << 8)
#define PWR_CR_FPDS (1u << 9)
#define PWR_CR_VOS (3u << 14)
#define PWR_CR_VOS_Pos 14u
#define PWR_CR_ODEN (1u << 16)
#define PWR_CR_ODSWEN (1u << 17)
#define PWR_CSR_ODRDY (1u << 16)
#define PWR_CSR_ODSWRDY (1u << 17)

#define USART_CR1_OVER8 (1u << 15)

#endif
