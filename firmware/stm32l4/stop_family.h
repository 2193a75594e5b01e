/* Stop 2: RM0394, RM0351 and RM0432, sections Stop 2 mode and EXTI lines connections. HSI16 is the clock behind it. */
#ifndef STOP_FAMILY_H
#define STOP_FAMILY_H

#include "stop_l4_g4.h"

/* Stop 2 would lose SRAM3, which only the L4+ has (RM0432, PWR_CR1 RRSTP). */
static inline void stop_family_select(void) {
#ifdef PWR_CR1_RRSTP
  PWR->CR1 |= PWR_CR1_RRSTP;
#endif
  stop_select_2();
}

#endif
