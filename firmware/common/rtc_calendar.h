/* The RTC of all families but the F1 in stop mode: SSR counts LSI, and its wake-up timer or alarm ends it. */
#ifndef RTC_CALENDAR_H
#define RTC_CALENDAR_H

#include "clock_source.h"
#include "device.h"

#define RTC_TICK_MASK 0x7FFFu /* SSR counts down from here: a tick is a period of LSI */
#define RTC_KEY_1 0xCAu
#define RTC_KEY_2 0x53u

/* SSR may change while it is read. */
static inline uint32_t rtc_ticks(void) {
  uint32_t ticks = RTC->SSR;
  for (uint32_t again = RTC->SSR; again != ticks; again = RTC->SSR) ticks = again;
  return ~ticks & RTC_TICK_MASK;
}

static inline bool rtc_begin(void) {
  RTC->WPR = RTC_KEY_1;
  RTC->WPR = RTC_KEY_2;
  rtc_begin_init();
  if (!clock_wait(&RTC_STATUS, RTC_INIT_ALLOWED, RTC_INIT_ALLOWED)) return false;
  RTC->PRER = RTC_TICK_MASK; /* SSR counts LSI; the two prescalers are written one after the other */
  RTC->PRER = RTC_TICK_MASK;
  RTC->CR = RTC_CR_BYPSHAD | RTC_TIMER_CLOCK;
  rtc_end_init();
  return true;
}

/* Rings `ticks` behind `start`, which is now. */
static inline void rtc_start_timer(uint32_t start, uint32_t ticks) {
  RTC->CR &= ~RTC_TIMER_ENABLE;
  (void)clock_wait(&RTC_STATUS, RTC_TIMER_IS_WRITABLE, RTC_TIMER_IS_WRITABLE);
  rtc_set_timer(start, ticks);
  rtc_clear_timer();
  RTC->CR |= RTC_TIMER_ENABLE | RTC_TIMER_INTERRUPT;
}

static inline void rtc_stop_timer(void) {
  RTC->CR &= ~(RTC_TIMER_ENABLE | RTC_TIMER_INTERRUPT);
  rtc_clear_timer();
}

#endif
