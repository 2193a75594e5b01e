/* Stop 2: RM0434, sections Stop 2 mode and EXTI lines connections. HSI16 is the clock behind it. The second core, which
 * is not started, must allow it, too.
 */
#ifndef STOP_FAMILY_H
#define STOP_FAMILY_H

#define STOP_TIMER_LINE 19u
#include "stop_l4_g4.h"

static inline void stop_family_select(void) {
  PWR->CR1 = (PWR->CR1 & ~PWR_CR1_LPMS) | PWR_CR1_LPMS_1;
  PWR->C2CR1 = (PWR->C2CR1 & ~PWR_C2CR1_LPMS) | PWR_C2CR1_LPMS_1;
  RCC->CFGR |= RCC_CFGR_STOPWUCK;
}

#endif
