/* Registers of the STM32F4: ST's header if the build has it, else our own. */
#ifndef DEVICE_H
#define DEVICE_H

#if __has_include("stm32f4xx.h")
#include "stm32f4xx.h"
#else
#include "stm32f4_registers.h"
#endif
#include "dma_streams.h"
#include "uart_v1.h"

#define CLOCK_RESET_HZ 16000000u /* HSI */

#endif
