/* A free-running counter of core cycles: DWT where the core has one, a timer of 32 bits on other cores, or two of 16 of
 * which one counts the updates of the other (device.h). DWT stops while the core sleeps, and is set forward behind that
 * (ticker_sleep); all stop in stop mode, and jump behind that.
 */
#ifndef CYCLE_COUNTER_H
#define CYCLE_COUNTER_H

#include "device.h"

/* The counter itself: 32 bits, which wrap around. */
#ifdef DWT
static inline uint32_t cycle_counter_low(void) { return DWT->CYCCNT; }
static inline void cycle_counter_set_forward(uint32_t low) { DWT->CYCCNT = low; }
static inline void cycle_counter_jump(uint32_t low) { DWT->CYCCNT = low; }
#else
static inline void cycle_counter_set_forward(uint32_t low) { (void)low; /* it has counted */ }
#ifdef CYCLE_TIMER_HIGH
uint32_t cycle_counter_low(void);
void cycle_counter_jump(uint32_t low);
#else
static inline uint32_t cycle_counter_low(void) { return CYCLE_TIMER->CNT; }
static inline void cycle_counter_jump(uint32_t low) { CYCLE_TIMER->CNT = low; }
#endif
#endif

void cycle_counter_begin(void);

/* Extended to 64 bits: to be called at least once while the counter wraps around, which takes 7.8 s at 550 MHz. */
uint64_t cycle_counter_now(void);

/* Frequency of the counter: that of the core, since the bus dividers of timers are 1. */
static inline uint32_t cycle_counter_hz(uint32_t core_hz) { return core_hz; }

#endif
