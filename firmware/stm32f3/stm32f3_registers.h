/* The used registers of the STM32F3, by RM0316 (F303), RM0365 (F302) and RM0366 (F301), with ST's names. */
#ifndef STM32F3_REGISTERS_H
#define STM32F3_REGISTERS_H

#define __CORTEX_M 4
#define __NVIC_PRIO_BITS 4
#include "f0_f3_registers.h"

#define UART4_BASE 0x40004C00u
#define UART5_BASE 0x40005000u

#define RCC_CFGR_PPRE1_Pos 8u
#define RCC_CFGR_PPRE2_Pos 11u
#define RCC_CFGR3_USART1SW_SYSCLK (1u << 0)
#define RCC_APB1ENR_UART4EN (1u << 19)
#define RCC_APB1ENR_UART5EN (1u << 20)

#define FLASH_ACR_LATENCY (7u << 0)

#endif
