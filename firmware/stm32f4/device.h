/* Registers of the STM32F4: ST's header if the build has it, else our own. */
#ifndef DEVICE_H
#define DEVICE_H

#if __has_include("stm32f4xx.h")
#include "stm32f4xx.h"
#else
#include "stm32f4_registers.h"
#endif
#include "dma_streams.h"
#include "reset_causes.h"
#include "rtc_v2.h"
#include "uart_v1.h"

#define CLOCK_RESET_HZ 16000000u /* HSI */

#define POWER_CONTROL PWR->CR
#define POWER_STATUS PWR->CSR

/* The CRC unit; it reverses no bits. */
#define CRC_CLOCK RCC->AHB1ENR
#define CRC_CLOCK_ENABLE RCC_AHB1ENR_CRCEN

#define WATCHDOG IWDG

/* Causes of the last reset. */
#define RESET_FLAGS_POWER (RCC_CSR_PORRSTF | RCC_CSR_BORRSTF)

#endif
