/* Registers of the STM32G4: ST's header if the build has it, else our own. */
#ifndef DEVICE_H
#define DEVICE_H

#if __has_include("stm32g4xx.h")
#include "stm32g4xx.h"
#else
#include "stm32g4_registers.h"
#endif
#include "dma_channels.h"
#include "reset_causes.h"
#include "rtc_v3.h"
#include "uart_v2.h"

#define CLOCK_RESET_HZ 16000000u /* HSI16 */
#define CLOCK_RESET_CFGR RCC_CFGR_SW_HSI

/* The CRC unit. */
#define CRC_CLOCK RCC->AHB1ENR
#define CRC_CLOCK_ENABLE RCC_AHB1ENR_CRCEN

/* Where the error correction of the flash has failed, in the low bits of ECCR: an offset in a bank. */
#define FLASH_CORRECTED_BYTES 8u
#define FLASH_FAILED_UNIT 1u
#define FLASH_FAILED_MASK 0x7FFFFu

/* Erasing pages (flash_pages.c): the G47x and G48x have pages of 4 KB in one bank or of 2 KB in two. */
#define FLASH_PAGES_BUSY FLASH_SR_BSY
#define FLASH_PAGES_BANK_2 (1u << 11)
#define FLASH_PAGES_PAIR_BYTES 4096u
#define FLASH_PAGES_TWO_BANKS (1u << 22)

#define WATCHDOG IWDG

/* Causes of the last reset. */
#define RESET_FLAGS_POWER RCC_CSR_BORRSTF

#endif
