/* Stop mode of the STM32L4, L4+, G4, WB and WL (stop_family.h): EXTI, and SYSCFG, which connects pins to its lines. WB
 * and WL have no bits for the clocks of PWR and SYSCFG.
 */
#ifndef STOP_L4_G4_H
#define STOP_L4_G4_H

#include <stdbool.h>

#include "device.h"

#ifndef STOP_TIMER_LINE
#define STOP_TIMER_LINE 20u
#endif
#define STOP_INTERRUPT_WORDS 2u
#define STOP_EXTI_MASK EXTI->IMR1
#define STOP_2 2u /* in PWR_CR1_LPMS: ST's headers differ in its name */

static inline void stop_family_begin(void) {
#ifdef RCC_APB1ENR1_PWREN
  RCC->APB1ENR1 |= RCC_APB1ENR1_PWREN;
#endif
#ifdef RCC_APB1ENR1_RTCAPBEN
  RCC->APB1ENR1 |= RCC_APB1ENR1_RTCAPBEN;
#endif
#ifdef RCC_APB2ENR_SYSCFGEN
  RCC->APB2ENR |= RCC_APB2ENR_SYSCFGEN;
#endif
  (void)RCC->APB2ENR; /* the clock is on after two cycles */
  PWR->CR1 |= PWR_CR1_DBP;
#ifndef STOP_TIMER_IS_DIRECT
  EXTI->RTSR1 |= 1u << STOP_TIMER_LINE;
#endif
}

#ifdef RCC_CFGR_STOPWUCK
/* Selects Stop 2, with HSI16 behind it. */
static inline void stop_select_2(void) {
  PWR->CR1 = (PWR->CR1 & ~PWR_CR1_LPMS) | STOP_2;
  RCC->CFGR |= RCC_CFGR_STOPWUCK;
}
#endif

static inline void stop_family_connect(uint32_t port, uint32_t line) {
  uint32_t shift = 4u * (line % 4u);
  SYSCFG->EXTICR[line / 4u] = (SYSCFG->EXTICR[line / 4u] & ~(0xFu << shift)) | port << shift;
  EXTI->FTSR1 |= 1u << line;
}

/* Returns which of `lines` have had an edge, and clears them. */
static inline uint32_t stop_family_take_edges(uint32_t lines) {
  uint32_t edges = EXTI->PR1 & lines;
  EXTI->PR1 = lines;
  return edges;
}

/* Whether the clock of the core is that behind stop mode. */
static inline bool stop_family_is_slow(void) { return (RCC->CFGR & RCC_CFGR_SWS) != RCC_CFGR_SWS_PLL; }

#endif
