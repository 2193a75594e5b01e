/* Stop mode with the regulator in low-power mode: RM0008, sections Stop mode, External interrupt lines and RTC. HSI is
 * the clock behind it.
 */
#ifndef STOP_FAMILY_H
#define STOP_FAMILY_H

#include "device.h"

#define STOP_TIMER_LINE 17u /* the alarm */
#define SYSCFG AFIO
#define RCC_APB2ENR_SYSCFGEN RCC_APB2ENR_AFIOEN
#define STOP_BACKUP_CLOCK RCC_APB1ENR_BKPEN
#include "stop_l0_f3.h"

#define STOP_INTERRUPT_WORDS 2u

static inline void stop_family_select(void) { PWR->CR = (PWR->CR & ~PWR_CR_PDDS) | PWR_CR_LPDS | PWR_CR_CWUF; }

#endif
