/* A free-running 32-bit counter of core cycles: DWT where the core has one, TIM2 on Cortex-M0+. */
#ifndef CYCLE_COUNTER_H
#define CYCLE_COUNTER_H

#include "device.h"

#ifdef DWT
static inline uint32_t cycle_counter_now(void) { return DWT->CYCCNT; }
#else
static inline uint32_t cycle_counter_now(void) { return TIM2->CNT; }
#endif

void cycle_counter_begin(void);

/* Frequency of the counter: that of the core, since the bus divider of TIM2 is 1. */
static inline uint32_t cycle_counter_hz(uint32_t core_hz) { return core_hz; }

#endif
