/* Registers of the STM32WB: ST's header if the build has it, else our own. */
#ifndef DEVICE_H
#define DEVICE_H

#if __has_include("stm32wbxx.h")
#include "stm32wbxx.h"
#else
#include "stm32wb_registers.h"
#endif
#include "rtc_v2.h"
#include "wb_wl.h"

#define RCC_CR_HSEBYP (1u << 18) /* which ST's header does not name */

/* The clock of the RTC. */
#define LSI_CONTROL RCC->CSR
#define LSI_ON RCC_CSR_LSI1ON
#define LSI_READY RCC_CSR_LSI1RDY

#endif
