/* Registers of the STM32L5: ST's header if the build has it, else our own. */
#ifndef DEVICE_H
#define DEVICE_H

#if __has_include("stm32l5xx.h")
#include "stm32l5xx.h"
#else
#include "stm32l5_registers.h"
#endif
#define DMA_MEMORY(channel) ((channel)->CM0AR)
#include "dma_channels.h"
#include "reset_causes.h"
#include "rtc_v3.h"
#include "uart_v2.h"

#define CLOCK_RESET_HZ 4000000u /* MSI */
#define CLOCK_RESET_CFGR 0u
#define CLOCK_FLASH_CACHES 0u

/* Fields whose values ST's header of this family does not name. */
#define RCC_CFGR_SW_PLL RCC_CFGR_SW
#define RCC_CFGR_SWS_PLL RCC_CFGR_SWS
#define RCC_PLLCFGR_PLLSRC_HSI RCC_PLLCFGR_PLLSRC_1
#define RCC_PLLCFGR_PLLSRC_HSE RCC_PLLCFGR_PLLSRC

/* The CRC unit. */
#define CRC_CLOCK RCC->AHB1ENR
#define CRC_CLOCK_ENABLE RCC_AHB1ENR_CRCEN

/* Where the error correction of the flash has failed, in the low bits of ECCR: an offset in a bank, or in all. */
#define FLASH_CORRECTED_BYTES 8u
#define FLASH_FAILED_UNIT 1u
#define FLASH_FAILED_MASK 0x7FFFFu

/* The flash controller has registers of its own for secure code. */
#define FLASH_CONTROL FLASH->NSCR
#define FLASH_STATUS FLASH->NSSR
#define FLASH_KEYS FLASH->NSKEYR
#define FLASH_CR_PG FLASH_NSCR_NSPG
#define FLASH_CR_PER FLASH_NSCR_NSPER
#define FLASH_CR_PNB_Pos FLASH_NSCR_NSPNB_Pos
#define FLASH_CR_STRT FLASH_NSCR_NSSTRT
#define FLASH_CR_LOCK FLASH_NSCR_NSLOCK

/* Erasing pages (flash_pages.c), of 4 KB in one bank or of 2 KB in two. */
#define FLASH_PAGES_PAIR_BYTES 4096u
#define FLASH_PAGES_TWO_BANKS FLASH_OPTR_DBANK
#define FLASH_PAGES_BUSY FLASH_NSSR_NSBSY
#define FLASH_PAGES_BANK_2 FLASH_NSCR_NSBKER
#define FLASH_PAGES_ERRORS 0x20FAu /* NSOPERR to OPTWERR of NSSR */

#define WATCHDOG IWDG

/* Causes of the last reset. */
#define RESET_FLAGS_POWER RCC_CSR_BORRSTF

#endif
