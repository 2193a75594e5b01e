/* Stop 2: RM0456, sections Stop 2 mode and EXTI. HSI16 is the clock behind it. The RTC has an interrupt, and no line of
 * EXTI.
 */
#ifndef STOP_FAMILY_H
#define STOP_FAMILY_H

#include <stdbool.h>

#include "device.h"

#define STOP_TIMER_LINES 0u
#include "exti_v2.h"

static inline void stop_family_begin(void) {
  RCC->AHB3ENR |= RCC_AHB3ENR_PWREN;
  RCC->APB3ENR |= RCC_APB3ENR_RTCAPBEN;
  (void)RCC->APB3ENR; /* the clocks are on after two cycles */
  PWR->DBPR |= PWR_DBPR_DBP;
}

static inline void stop_family_select(void) {
  PWR->CR1 = (PWR->CR1 & ~PWR_CR1_LPMS) | PWR_CR1_LPMS_1;
  RCC->CFGR1 |= RCC_CFGR1_STOPWUCK;
}

/* Whether the clock of the core is that behind stop mode. */
static inline bool stop_family_is_slow(void) { return (RCC->CFGR1 & RCC_CFGR1_SWS) != RCC_CFGR1_SWS; }

#endif
