/* The RTC of the STM32G0, C0, H5, L5 and U5: flags in SR are cleared by SCR. That of the C0 has no wake-up timer, but
 * an alarm that comes when SSR reaches a value.
 */
#ifndef RTC_REGISTERS_H
#define RTC_REGISTERS_H

#define RTC_STATUS RTC->ICSR
#define RTC_INIT_ALLOWED RTC_ICSR_INITF

static inline void rtc_begin_init(void) { RTC->ICSR |= RTC_ICSR_INIT; }

static inline void rtc_end_init(void) { RTC->ICSR &= ~RTC_ICSR_INIT; }

#ifdef RTC_CR_WUTE
#include "rtc_wake_up.h"

#define RTC_TIMER_IS_WRITABLE RTC_ICSR_WUTWF

static inline void rtc_clear_timer(void) { RTC->SCR = RTC_SCR_CWUTF; }
#else
#define RTC_TIMER_CLOCK 0u
#define RTC_TIMER_ENABLE RTC_CR_ALRAE
#define RTC_TIMER_INTERRUPT RTC_CR_ALRAIE
#define RTC_TIMER_IS_WRITABLE RTC_ICSR_ALRAWF

/* All of SSR, which counts down, and nothing else, is compared. */
static inline void rtc_set_timer(uint32_t start, uint32_t ticks) {
  RTC->ALRMAR = RTC_ALRMAR_MSK1 | RTC_ALRMAR_MSK2 | RTC_ALRMAR_MSK3 | RTC_ALRMAR_MSK4;
  RTC->ALRMASSR = RTC_ALRMASSR_MASKSS | (~(start + ticks) & RTC_ALRMASSR_SS);
}

static inline void rtc_clear_timer(void) { RTC->SCR = RTC_SCR_CALRAF; }
#endif

#endif
