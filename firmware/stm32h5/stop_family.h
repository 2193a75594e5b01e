/* Stop mode at voltage scale SVOS4: RM0481, sections Stop mode and EXTI. HSI is the clock behind it. */
#ifndef STOP_FAMILY_H
#define STOP_FAMILY_H

#include <stdbool.h>

#include "device.h"

#define STOP_TIMER_LINES (1u << 17) /* of the RTC; direct: it has no edges */
#include "exti_v2.h"

static inline void stop_family_begin(void) {
  RCC->APB3ENR |= RCC_APB3ENR_RTCAPBEN;
  (void)RCC->APB3ENR; /* the clock is on after two cycles */
  PWR->DBPCR |= PWR_DBPCR_DBP;
}

static inline void stop_family_select(void) {
  PWR->PMCR = (PWR->PMCR & ~(PWR_PMCR_LPMS | PWR_PMCR_SVOS)) | PWR_PMCR_SVOS_1;
}

/* Whether the clock of the core is that behind stop mode. */
static inline bool stop_family_is_slow(void) { return (RCC->CFGR1 & RCC_CFGR1_SWS) != RCC_CFGR1_SWS; }

#endif
