/* The used registers of the STM32WB, by RM0434 (WB55), with ST's names. */
#ifndef STM32WB_REGISTERS_H
#define STM32WB_REGISTERS_H

#define RCC_HAS_SECOND_CORE
#include "rtc_v2_registers.h"
#include "wb_wl_registers.h"

#define GPIOD_BASE 0x48000C00u
#define GPIOE_BASE 0x48001000u

#define RCC_EXTCFGR_C2HPRE_3 (8u << 4)
#define RCC_AHB2ENR_GPIODEN (1u << 3)
#define RCC_AHB2ENR_GPIOEEN (1u << 4)
#define RCC_CSR_LSI1ON (1u << 0)
#define RCC_CSR_LSI1RDY (1u << 1)

#define PWR_C2CR1_LPMS (7u << 0)

#endif
