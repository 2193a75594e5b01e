/* Registers of the STM32H5: ST's header if the build has it, else our own. */
#ifndef DEVICE_H
#define DEVICE_H

#if __has_include("stm32h5xx.h")
#include "stm32h5xx.h"
#else
#include "stm32h5_registers.h"
#endif
#include "gpdma.h"
#include "rtc_v3.h"
#include "uart_v2.h"

#define CLOCK_RESET_HZ 32000000u /* HSI, divided by 2 */

/* The CRC unit. */
#define CRC_CLOCK RCC->AHB1ENR
#define CRC_CLOCK_ENABLE RCC_AHB1ENR_CRCEN

/* Where the error correction of the flash has failed, in the low bits of ECCDETR: the number of four words in a bank */
#define FLASH_CORRECTED_BYTES 16u
#define FLASH_FAILED_UNIT 16u
#define FLASH_FAILED_MASK 0xFFFFFu
#define FLASH_ERRORS_CORRECTED FLASH->ECCCORR
#define FLASH_ERRORS_DETECTED FLASH->ECCDETR

/* The flash controller has registers of its own for secure code. */
#define FLASH_CONTROL FLASH->NSCR
#define FLASH_STATUS FLASH->NSSR
#define FLASH_KEYS FLASH->NSKEYR

/* Erasing sectors, as flash_pages.c erases pages. */
#define FLASH_CR_PER FLASH_CR_SER
#define FLASH_CR_PNB_Pos FLASH_CR_SNB_Pos
#define FLASH_CR_STRT FLASH_CR_START
#define FLASH_PAGES_BUSY (FLASH_SR_BSY | FLASH_SR_WBNE | FLASH_SR_DBNE)
#define FLASH_PAGES_BANK_2 FLASH_CR_BKSEL
#define FLASH_PAGES_WORDS 4u
#define FLASH_PAGES_CLEAR FLASH->NSCCR
#define FLASH_PAGES_ERRORS 0x00FE0000u /* WRPERR to OPTCHANGEERR of NSSR */

#define WATCHDOG IWDG

/* Causes of the last reset. */
#define RESET_FLAGS RCC->RSR
#define RESET_FLAGS_CLEAR RCC_RSR_RMVF
#define RESET_FLAGS_WATCHDOG RCC_RSR_IWDGRSTF
#define RESET_FLAGS_SOFTWARE RCC_RSR_SFTRSTF
#define RESET_FLAGS_POWER RCC_RSR_BORRSTF
#define RESET_FLAGS_PIN RCC_RSR_PINRSTF

/* The clock of the RTC. */
#define RCC_BDCR_BDRST RCC_BDCR_VSWRST
#define LSI_CONTROL RCC->BDCR
#define LSI_ON RCC_BDCR_LSION
#define LSI_READY RCC_BDCR_LSIRDY

#endif
