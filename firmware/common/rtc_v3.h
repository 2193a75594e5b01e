/* The RTC of the STM32G0: flags in SR are cleared by SCR. */
#ifndef RTC_REGISTERS_H
#define RTC_REGISTERS_H

#define RTC_STATUS RTC->ICSR
#define RTC_INIT_ALLOWED RTC_ICSR_INITF
#define RTC_TIMER_IS_WRITABLE RTC_ICSR_WUTWF

static inline void rtc_begin_init(void) { RTC->ICSR |= RTC_ICSR_INIT; }

static inline void rtc_end_init(void) { RTC->ICSR &= ~RTC_ICSR_INIT; }

static inline void rtc_clear_timer(void) { RTC->SCR = RTC_SCR_CWUTF; }

#endif
