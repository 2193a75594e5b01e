/* Stop: RM0490, sections Stop mode and EXTI lines connections. HSISYS is the clock behind it. */
#ifndef STOP_FAMILY_H
#define STOP_FAMILY_H

#include <stdbool.h>

#include "clock.h"
#include "device.h"
#include "exti_v2.h"

static inline void stop_family_begin(void) {
  RCC->APBENR1 |= RCC_APBENR1_PWREN | RCC_APBENR1_RTCAPBEN;
  (void)RCC->APBENR1; /* the clocks are on after two cycles */
}

static inline void stop_family_select(void) { PWR->CR1 &= ~PWR_CR1_LPMS; }

/* Whether the clock of the core is that behind stop mode. HSI48 keeps its divider. */
static inline bool stop_family_is_slow(void) { return CLOCK_HSE_HZ && !(RCC->CFGR & RCC_CFGR_SWS_0); }

#endif
