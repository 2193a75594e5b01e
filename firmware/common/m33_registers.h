/* What the STM32H5, L5 and U5 have in common, at the addresses for code that is not secure, with ST's names. */
#ifndef M33_REGISTERS_H
#define M33_REGISTERS_H

#define __CORTEX_M 33
#include "cortex_m.h"
#include "exti_v2_registers.h"
#include "icache_registers.h"
#include "rtc_v3_registers.h"
#include "usart_v2_combined_registers.h"

#define FLASH_R_BASE 0x40022000u
#define ICACHE_BASE 0x40030400u
#define GPIOA_BASE 0x42020000u
#define GPIOB_BASE 0x42020400u
#define GPIOC_BASE 0x42020800u
#define GPIOD_BASE 0x42020C00u
#define GPIOE_BASE 0x42021000u
#define GPIOF_BASE 0x42021400u
#define GPIOG_BASE 0x42021800u
#define GPIOH_BASE 0x42021C00u
#define USART2_BASE 0x40004400u
#define USART3_BASE 0x40004800u
#define UART4_BASE 0x40004C00u
#define UART5_BASE 0x40005000u

#define FLASH ((FLASH_TypeDef *)FLASH_R_BASE)
#define ICACHE ((ICACHE_TypeDef *)ICACHE_BASE)

#define RCC_CR_HSEBYP (1u << 18)
#define FLASH_ACR_LATENCY (15u << 0)
#define FLASH_ECCR_ECCC (1u << 30)
#define FLASH_ECCR_ECCD (1u << 31)

#endif
