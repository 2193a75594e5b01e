/* Stop 2: RM0434, sections Stop 2 mode and EXTI lines connections. HSI16 is the clock behind it. The second core, which
 * is not started, must allow it, too.
 */
#ifndef STOP_FAMILY_H
#define STOP_FAMILY_H

#define STOP_TIMER_LINE 19u
#include "stop_l4_g4.h"

static inline void stop_family_select(void) {
  stop_select_2();
  PWR->C2CR1 = (PWR->C2CR1 & ~PWR_C2CR1_LPMS) | STOP_2;
}

#endif
