/* The RTC of the STM32F4, F7, L0, L4 and H7: one status register. */
#ifndef RTC_REGISTERS_H
#define RTC_REGISTERS_H

#include "rtc_wake_up.h"

#define RTC_STATUS RTC->ISR
#define RTC_INIT_ALLOWED RTC_ISR_INITF
#define RTC_TIMER_IS_WRITABLE RTC_ISR_WUTWF

static inline void rtc_begin_init(void) { RTC->ISR |= RTC_ISR_INIT; }

static inline void rtc_end_init(void) { RTC->ISR &= ~RTC_ISR_INIT; }

/* Flags are cleared by 0, and INIT stays 0. */
static inline void rtc_clear_timer(void) { RTC->ISR = ~(RTC_ISR_WUTF | RTC_ISR_INIT); }

#endif
