/* The RTC of the STM32F1 in stop mode: a counter of half of LSI, whose alarm ends it. RM0008, section Real-time clock.
 */
#ifndef RTC_COUNTER_H
#define RTC_COUNTER_H

#include "clock_source.h"
#include "device.h"

#define RTC_TICK_MASK 0x7FFFu
#define RTC_DIVIDER 2u /* of LSI: a prescaler of 1 is not allowed. What is left of it is the lowest bit of the ticks. */

/* A tick is a period of LSI. The counter or the prescaler may change while they are read. */
static inline uint32_t rtc_ticks(void) {
  uint32_t left, count;
  do {
    count = RTC->CNTL;
    left = RTC->DIVL;
  } while (count != RTC->CNTL || left != RTC->DIVL);
  return (count * RTC_DIVIDER + (RTC_DIVIDER - 1u - left)) & RTC_TICK_MASK;
}

/* Registers are written between the two; a write takes some periods of LSI. */
static inline bool rtc_begin_write(void) {
  if (!clock_wait(&RTC->CRL, RTC_CRL_RTOFF, RTC_CRL_RTOFF)) return false;
  RTC->CRL |= RTC_CRL_CNF;
  return true;
}

static inline bool rtc_end_write(void) {
  RTC->CRL &= ~RTC_CRL_CNF;
  return clock_wait(&RTC->CRL, RTC_CRL_RTOFF, RTC_CRL_RTOFF);
}

/* Behind a reset and stop mode, what is read of the counter is old until this is over. Flags are cleared by 0. */
static inline bool rtc_is_read(void) {
  RTC->CRL = (uint32_t)~(RTC_CRL_RSF | RTC_CRL_CNF) & UINT16_MAX;
  return clock_wait(&RTC->CRL, RTC_CRL_RSF, RTC_CRL_RSF);
}

static inline bool rtc_begin(void) {
  if (!rtc_begin_write()) return false;
  RTC->PRLH = 0;
  RTC->PRLL = RTC_DIVIDER - 1u;
  return rtc_end_write() && rtc_is_read();
}

/* Rings `ticks` behind `start`, which is now. */
static inline void rtc_start_timer(uint32_t start, uint32_t ticks) {
  (void)start;
  (void)rtc_begin_write();
  uint32_t alarm = (RTC->CNTH << 16 | RTC->CNTL) + ticks / RTC_DIVIDER + 1u; /* it counts whole periods */
  RTC->ALRH = alarm >> 16;
  RTC->ALRL = alarm & UINT16_MAX;
  (void)rtc_end_write();
  RTC->CRL = (uint32_t)~(RTC_CRL_ALRF | RTC_CRL_CNF) & UINT16_MAX;
  RTC->CRH = RTC_CRH_ALRIE;
}

static inline void rtc_stop_timer(void) {
  RTC->CRH = 0;
  RTC->CRL = (uint32_t)~(RTC_CRL_ALRF | RTC_CRL_CNF) & UINT16_MAX;
  (void)rtc_is_read();
}

#endif
