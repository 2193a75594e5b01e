/* Stop 1: RM0444, sections Stop 1 mode and EXTI lines connections. HSISYS is the clock behind it. */
#ifndef STOP_FAMILY_H
#define STOP_FAMILY_H

#include <stdbool.h>

#include "device.h"
#include "exti_v2.h"

static inline void stop_family_begin(void) {
  RCC->APBENR1 |= RCC_APBENR1_PWREN | RCC_APBENR1_RTCAPBEN;
  (void)RCC->APBENR1; /* the clocks are on after two cycles */
  PWR->CR1 |= PWR_CR1_DBP;
}

static inline void stop_family_select(void) { PWR->CR1 = (PWR->CR1 & ~PWR_CR1_LPMS) | PWR_CR1_LPMS_0; }

/* Whether the clock of the core is that behind stop mode. */
static inline bool stop_family_is_slow(void) { return (RCC->CFGR & RCC_CFGR_SWS) != RCC_CFGR_SWS_1; }

#endif
