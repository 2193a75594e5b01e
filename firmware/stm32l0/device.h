/* Registers of the STM32L0: ST's header if the build has it, else our own. */
#ifndef DEVICE_H
#define DEVICE_H

#if __has_include("stm32l0xx.h")
#include "stm32l0xx.h"
#else
#include "stm32l0_registers.h"
#endif
#include "dma_channels.h"
#include "reset_causes.h"
#include "rtc_v2.h"
#include "uart_v2.h"

#define CLOCK_RESET_HZ 2097152u /* MSI */

/* The CRC unit. */
#define CRC_CLOCK RCC->AHBENR
#define CRC_CLOCK_ENABLE RCC_AHBENR_CRCEN

#define WATCHDOG IWDG

/* The counter of cycles: there is no timer of 32 bits. */
#define CYCLE_CLOCK RCC->APB1ENR
#define CYCLE_CLOCK_ENABLE RCC_APB1ENR_TIM2EN
#define CYCLE_TIMER TIM2
#define CYCLE_HIGH_CLOCK RCC->APB2ENR
#define CYCLE_HIGH_CLOCK_ENABLE RCC_APB2ENR_TIM21EN
#define CYCLE_TIMER_HIGH TIM21

/* Causes of the last reset. */
#define RESET_FLAGS_POWER RCC_CSR_PORRSTF

/* The clock of the RTC. */
#define LSI_HZ 37000u
#define RTC_CLOCK RCC->CSR
#define RTC_CLOCK_FIELD (RCC_CSR_RTCSEL | RCC_CSR_RTCEN)
#define RTC_CLOCK_LSI (RCC_CSR_RTCSEL_1 | RCC_CSR_RTCEN)
#define RTC_CLOCK_RESET RCC_CSR_RTCRST

#endif
