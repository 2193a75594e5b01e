/* The wake-up timer of the RTC, the same but for its flags (rtc_v2.h, rtc_v3.h). */
#ifndef RTC_WAKE_UP_H
#define RTC_WAKE_UP_H

#include <stdint.h>

#define RTC_TIMER_CLOCK (RTC_CR_WUCKSEL_0 | RTC_CR_WUCKSEL_1) /* half of LSI */
#define RTC_TIMER_ENABLE RTC_CR_WUTE
#define RTC_TIMER_INTERRUPT RTC_CR_WUTIE

/* Rings `ticks` of LSI behind its start. */
static inline void rtc_set_timer(uint32_t start, uint32_t ticks) {
  (void)start;
  RTC->WUTR = ticks / 2u - 1u;
}

#endif
