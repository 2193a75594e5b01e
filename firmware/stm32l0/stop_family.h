/* Stop: RM0367, sections Stop mode and EXTI lines connections. HSI16 is the clock behind it. */
#ifndef STOP_FAMILY_H
#define STOP_FAMILY_H

#include "stop_l0_f3.h"

#define STOP_INTERRUPT_WORDS 1u

static inline void stop_family_select(void) {
  PWR->CR = (PWR->CR & ~PWR_CR_PDDS) | PWR_CR_LPSDSR | PWR_CR_CWUF;
  RCC->CFGR |= RCC_CFGR_STOPWUCK;
}

#endif
