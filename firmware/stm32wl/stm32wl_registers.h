/* The used registers of the STM32WL, by RM0453 (WL54, WL55) and RM0461 (WLE4, WLE5), with ST's names. */
#ifndef STM32WL_REGISTERS_H
#define STM32WL_REGISTERS_H

#include "rtc_v3_registers.h"
#include "wb_wl_registers.h"

#define USART2_BASE 0x40004400u

#define RCC_CR_HSEBYPPWR (1u << 21)
#define RCC_APB1ENR1_USART2EN (1u << 17)
#define RCC_CSR_LSION (1u << 0)
#define RCC_CSR_LSIRDY (1u << 1)

#endif
