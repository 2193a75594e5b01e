/* The used registers of the STM32F0, by RM0091, with ST's names. */
#ifndef STM32F0_REGISTERS_H
#define STM32F0_REGISTERS_H

#define __CORTEX_M 0
#define __NVIC_PRIO_BITS 2
#define CORE_WITHOUT_MPU
#define CORE_WITHOUT_VTOR
#define DMA_SELECTS_REQUESTS
#include "f0_f3_registers.h"
#include "tim_registers.h"

#define TIM2_BASE 0x40000000u
#define USART4_BASE 0x40004C00u
#define USART5_BASE 0x40005000u

#define RCC_CFGR_PPRE_Pos 8u
#define RCC_APB1ENR_TIM2EN (1u << 0)
#define RCC_APB1ENR_USART4EN (1u << 19)
#define RCC_APB1ENR_USART5EN (1u << 20)

#define FLASH_ACR_LATENCY (1u << 0)

#endif
