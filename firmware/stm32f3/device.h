/* Registers of the STM32F3: ST's header if the build has it, else our own. */
#ifndef DEVICE_H
#define DEVICE_H

#if __has_include("stm32f3xx.h")
#include "stm32f3xx.h"
#else
#include "stm32f3_registers.h"
#endif
#include "dma_channels.h"
#include "reset_causes.h"
#include "rtc_v2.h"

#define USART_ICR_NECF USART_ICR_NCF /* its name on other families */
#include "uart_v2.h"

#define CLOCK_RESET_HZ 8000000u /* HSI */
#define LSI_HZ 40000u

/* Flash programs half-words (flash_half_words.c). */
#define FLASH_HALF_WORDS

/* The CRC unit. */
#define CRC_CLOCK RCC->AHBENR
#define CRC_CLOCK_ENABLE RCC_AHBENR_CRCEN

#define WATCHDOG IWDG

/* Causes of the last reset. */
#define RESET_FLAGS_POWER RCC_CSR_PORRSTF

#endif
