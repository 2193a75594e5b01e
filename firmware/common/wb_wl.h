/* What device.h of the STM32WB and WL have in common. */
#ifndef WB_WL_H
#define WB_WL_H

#include "dma_channels.h"
#include "reset_causes.h"
#include "uart_v2.h"

#define CLOCK_RESET_HZ 4000000u /* MSI */
#define CLOCK_RESET_CFGR 0u

/* Fields whose values ST's headers of these families do not name. */
#define RCC_CFGR_SW_PLL RCC_CFGR_SW
#define RCC_CFGR_SWS_PLL RCC_CFGR_SWS
#define RCC_PLLCFGR_PLLSRC_HSI RCC_PLLCFGR_PLLSRC_1
#define RCC_PLLCFGR_PLLSRC_HSE RCC_PLLCFGR_PLLSRC
#define CLOCK_PLLR_FIELD(r) ((r) - 1u)

/* The CRC unit. */
#define CRC_CLOCK RCC->AHB1ENR
#define CRC_CLOCK_ENABLE RCC_AHB1ENR_CRCEN

/* Where the error correction of the flash has failed, in the low bits of ECCR: the number of a double word. */
#define FLASH_CORRECTED_BYTES 8u
#define FLASH_FAILED_UNIT 8u
#define FLASH_FAILED_MASK 0xFFFFFu

/* Erasing pages (flash_pages.c). */
#define FLASH_PAGES_BUSY (FLASH_SR_BSY | FLASH_SR_CFGBSY)

#define WATCHDOG IWDG

/* Causes of the last reset. */
#define RESET_FLAGS_POWER RCC_CSR_BORRSTF

#endif
