/* Registers of the STM32G0: ST's header if the build has it, else our own. */
#ifndef DEVICE_H
#define DEVICE_H

#if __has_include("stm32g0xx.h")
#include "stm32g0xx.h"
#else
#include "stm32g0_registers.h"
#endif
#include "dma_channels.h"
#include "reset_causes.h"
#include "rtc_v3.h"
#include "uart_v2.h"

#define CLOCK_RESET_HZ 16000000u /* HSI16 */

/* The CRC unit. */
#define CRC_CLOCK RCC->AHBENR
#define CRC_CLOCK_ENABLE RCC_AHBENR_CRCEN

/* Where the error correction of the flash has failed, in the low bits of ECCR: the number of a double word. */
#define FLASH_CORRECTED_BYTES 8u
#define FLASH_FAILED_UNIT 8u
#define FLASH_FAILED_MASK 0x1FFFFu

/* Erasing pages (flash_pages.c). Bit 17 of SR: BSY2 of devices with two banks. */
#define FLASH_PAGES_BUSY (FLASH_SR_BSY1 | 1u << 17 | FLASH_SR_CFGBSY)
#define FLASH_PAGES_BANK_2 (1u << 13)

#define WATCHDOG IWDG

/* The counter of cycles. */
#define CYCLE_CLOCK RCC->APBENR1
#define CYCLE_CLOCK_ENABLE RCC_APBENR1_TIM2EN
#define CYCLE_TIMER TIM2

/* Causes of the last reset. */
#define RESET_FLAGS_POWER RCC_CSR_PWRRSTF

#endif
