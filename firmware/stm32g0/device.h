/* Registers of the STM32G0: ST's header if the build has it, else our own. */
#ifndef DEVICE_H
#define DEVICE_H

#if __has_include("stm32g0xx.h")
#include "stm32g0xx.h"
#else
#include "stm32g0_registers.h"
#endif
#include "dma_channels.h"
#include "uart_v2.h"

#define CLOCK_RESET_HZ 16000000u /* HSI16 */

#endif
