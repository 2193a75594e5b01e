/* Registers of the STM32U5: ST's header if the build has it, else our own. */
#ifndef DEVICE_H
#define DEVICE_H

#if __has_include("stm32u5xx.h")
#include "stm32u5xx.h"
#else
#include "stm32u5_registers.h"
#endif
#include "gpdma.h"
#include "reset_causes.h"
#include "rtc_v3.h"
#include "uart_v2.h"

#define CLOCK_RESET_HZ 4000000u /* MSIS */

/* The CRC unit. */
#define CRC_CLOCK RCC->AHB1ENR
#define CRC_CLOCK_ENABLE RCC_AHB1ENR_CRCEN

/* Where the error correction of the flash has failed, in the low bits of ECCR: an offset in a bank. */
#define FLASH_CORRECTED_BYTES 16u
#define FLASH_FAILED_UNIT 1u
#define FLASH_FAILED_MASK 0xFFFFFu

/* The flash controller has registers of its own for secure code. */
#define FLASH_CONTROL FLASH->NSCR
#define FLASH_STATUS FLASH->NSSR
#define FLASH_KEYS FLASH->NSKEYR
#define FLASH_CR_PG FLASH_NSCR_PG
#define FLASH_CR_PER FLASH_NSCR_PER
#define FLASH_CR_PNB_Pos FLASH_NSCR_PNB_Pos
#define FLASH_CR_STRT FLASH_NSCR_STRT
#define FLASH_CR_LOCK FLASH_NSCR_LOCK

/* Erasing pages (flash_pages.c). */
#define FLASH_PAGES_BUSY FLASH_NSSR_BSY
#define FLASH_PAGES_BANK_2 FLASH_NSCR_BKER
#define FLASH_PAGES_WORDS 4u

#define WATCHDOG IWDG

/* Causes of the last reset. */
#define RESET_FLAGS_POWER RCC_CSR_BORRSTF

/* The clock of the RTC. */
#define LSI_CONTROL RCC->BDCR
#define LSI_ON RCC_BDCR_LSION
#define LSI_READY RCC_BDCR_LSIRDY

#endif
