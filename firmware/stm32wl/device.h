/* Registers of the STM32WL: ST's header if the build has it, else our own. */
#ifndef DEVICE_H
#define DEVICE_H

#if __has_include("stm32wlxx.h")
#include "stm32wlxx.h"
#else
#include "stm32wl_registers.h"
#endif
#include "rtc_v3.h"
#include "wb_wl.h"

/* The clock at OSC_IN is that of a TCXO, which the device supplies (VDDTCXO). */
#define RCC_CR_HSEBYP RCC_CR_HSEBYPPWR

#endif
