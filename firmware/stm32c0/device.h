/* Registers of the STM32C0: ST's header if the build has it, else our own. */
#ifndef DEVICE_H
#define DEVICE_H

#if __has_include("stm32c0xx.h")
#include "stm32c0xx.h"
#else
#include "stm32c0_registers.h"
#endif
#include "dma_channels.h"
#include "rtc_v3.h"
#include "uart_v2.h"

#define CLOCK_RESET_HZ 12000000u /* HSI48 / 4 */

/* The CRC unit. */
#define CRC_CLOCK RCC->AHBENR
#define CRC_CLOCK_ENABLE RCC_AHBENR_CRCEN

/* Erasing pages (flash_pages.c). */
#define FLASH_PAGES_BUSY (FLASH_SR_BSY1 | FLASH_SR_CFGBSY)

#define WATCHDOG IWDG

/* The counter of cycles: not every device has a timer of 32 bits. */
#define CYCLE_CLOCK RCC->APBENR2
#define CYCLE_CLOCK_ENABLE RCC_APBENR2_TIM1EN
#define CYCLE_TIMER TIM1
#define CYCLE_HIGH_CLOCK RCC->APBENR1
#define CYCLE_HIGH_CLOCK_ENABLE RCC_APBENR1_TIM3EN
#define CYCLE_TIMER_HIGH TIM3

/* Causes of the last reset. */
#define RESET_FLAGS RCC->CSR2
#define RESET_FLAGS_CLEAR RCC_CSR2_RMVF
#define RESET_FLAGS_WATCHDOG RCC_CSR2_IWDGRSTF
#define RESET_FLAGS_SOFTWARE RCC_CSR2_SFTRSTF
#define RESET_FLAGS_POWER RCC_CSR2_PWRRSTF
#define RESET_FLAGS_PIN RCC_CSR2_PINRSTF

/* The clock of the RTC. */
#define LSI_CONTROL RCC->CSR2
#define LSI_ON RCC_CSR2_LSION
#define LSI_READY RCC_CSR2_LSIRDY
#define RTC_CLOCK RCC->CSR1
#define RTC_CLOCK_FIELD (RCC_CSR1_RTCSEL | RCC_CSR1_RTCEN)
#define RTC_CLOCK_LSI (RCC_CSR1_RTCSEL_1 | RCC_CSR1_RTCEN)
#define RTC_CLOCK_RESET RCC_CSR1_RTCRST

#endif
