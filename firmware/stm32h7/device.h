/* Registers of the STM32H7: ST's header if the build has it, else our own. */
#ifndef DEVICE_H
#define DEVICE_H

#if __has_include("stm32h7xx.h")
#include "stm32h7xx.h"
#else
#include "stm32h7_registers.h"
#endif
#include "dma_streams.h"
#include "rtc_v2.h"
#include "uart_v2.h"

#define CLOCK_RESET_HZ 64000000u /* HSI */

/* The CRC unit. */
#define CRC_CLOCK RCC->AHB4ENR
#define CRC_CLOCK_ENABLE RCC_AHB4ENR_CRCEN

#define WATCHDOG IWDG1

/* Causes of the last reset. */
#define RESET_FLAGS RCC->RSR
#define RESET_FLAGS_CLEAR RCC_RSR_RMVF
#define RESET_FLAGS_WATCHDOG RCC_RSR_IWDG1RSTF
#define RESET_FLAGS_SOFTWARE RCC_RSR_SFTRSTF
#define RESET_FLAGS_POWER (RCC_RSR_PORRSTF | RCC_RSR_BORRSTF)
#define RESET_FLAGS_PIN RCC_RSR_PINRSTF

#endif
