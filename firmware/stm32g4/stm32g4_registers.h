/* The used registers of the STM32G4, by RM0440, with ST's names. */
#ifndef STM32G4_REGISTERS_H
#define STM32G4_REGISTERS_H

/* Where controllers have six channels, ST numbers those of DMA2 from 6 on, at the same addresses as elsewhere. */
#if defined(STM32G431xx) || defined(STM32G441xx)
#define DMAMUX_UP_TO_6
#define DMAMUX1_Channel6_BASE 0x40020820u
#define DMAMUX1_Channel7_BASE 0x40020824u
#define DMAMUX1_Channel8_BASE 0x40020828u
#define DMAMUX1_Channel9_BASE 0x4002082Cu
#define DMAMUX1_Channel10_BASE 0x40020830u
#define DMAMUX1_Channel11_BASE 0x40020834u
#else
#define DMAMUX_UP_TO_16
#endif
#include "rtc_v3_registers.h"
#include "stm32l4_g4_registers.h"
#include "usart_v2_combined_registers.h"

#define DMA1_Channel8_BASE 0x40020094u
#define DMA2_Channel8_BASE 0x40020494u

#define RCC_CFGR_SW_HSI (1u << 0)

#define PWR_CR1_LPMS_STOP1 (1u << 0)

#endif
