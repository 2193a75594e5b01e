/* Stop 2: RM0438, sections Stop 2 mode and EXTI. HSI16 is the clock behind it. */
#ifndef STOP_FAMILY_H
#define STOP_FAMILY_H

#include <stdbool.h>

#include "device.h"

#define STOP_TIMER_LINES (1u << 17) /* of the RTC; direct: it has no edges */
#include "exti_v2.h"

static inline void stop_family_begin(void) {
  RCC->APB1ENR1 |= RCC_APB1ENR1_PWREN | RCC_APB1ENR1_RTCAPBEN;
  (void)RCC->APB1ENR1; /* the clocks are on after two cycles */
  PWR->CR1 |= PWR_CR1_DBP;
}

static inline void stop_family_select(void) {
  PWR->CR1 = (PWR->CR1 & ~PWR_CR1_LPMS) | PWR_CR1_LPMS_1;
  RCC->CFGR |= RCC_CFGR_STOPWUCK;
}

/* Whether the clock of the core is that behind stop mode. */
static inline bool stop_family_is_slow(void) { return (RCC->CFGR & RCC_CFGR_SWS) != RCC_CFGR_SWS_PLL; }

#endif
