/* Registers of the STM32H7: ST's header if the build has it, else our own. */
#ifndef DEVICE_H
#define DEVICE_H

#if __has_include("stm32h7xx.h")
#include "stm32h7xx.h"
#else
#include "stm32h7_registers.h"
#endif
#include "dma_streams.h"
#include "uart_v2.h"

#define CLOCK_RESET_HZ 64000000u /* HSI */

#endif
