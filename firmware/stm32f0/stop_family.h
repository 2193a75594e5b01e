/* Stop mode with the regulator in low-power mode: RM0091, sections Stop mode and EXTI line mapping. HSI is the clock
 * behind it.
 */
#ifndef STOP_FAMILY_H
#define STOP_FAMILY_H

#include "stop_l0_f3.h"

#define STOP_INTERRUPT_WORDS 1u

static inline void stop_family_select(void) { PWR->CR = (PWR->CR & ~PWR_CR_PDDS) | PWR_CR_LPDS | PWR_CR_CWUF; }

#endif
