/* Stop 2: RM0453 and RM0461, sections Stop 2 mode and EXTI. HSI16 is the clock behind it. The second core, which is not
 * started, allows it (PWR_C2CR1 is 7 after a reset).
 */
#ifndef STOP_FAMILY_H
#define STOP_FAMILY_H

#define STOP_TIMER_IS_DIRECT /* it has no edges */
#include "stop_l4_g4.h"

static inline void stop_family_select(void) { stop_select_2(); }

#endif
