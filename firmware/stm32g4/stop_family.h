/* Stop 1: RM0440, sections Stop 1 mode and EXTI lines connections. HSI16 is the clock behind it. */
#ifndef STOP_FAMILY_H
#define STOP_FAMILY_H

#include "stop_l4_g4.h"

static inline void stop_family_select(void) { PWR->CR1 = (PWR->CR1 & ~PWR_CR1_LPMS) | PWR_CR1_LPMS_STOP1; }

#endif
