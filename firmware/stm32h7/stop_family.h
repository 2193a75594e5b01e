/* Stop mode of all domains at voltage scale SVOS4: RM0433 and RM0468, sections Stop mode and EXTI event input mapping.
 * HSI is the clock behind it, at VOS3. */
#ifndef STOP_FAMILY_H
#define STOP_FAMILY_H

#include <stdbool.h>

#include "clock.h"
#include "device.h"

#define STOP_TIMER_LINE 19u
#define STOP_INTERRUPT_WORDS 2u
#define STOP_EXTI_MASK EXTI->IMR1

static inline void stop_family_begin(void) {
  RCC->APB4ENR |= RCC_APB4ENR_SYSCFGEN | RCC_APB4ENR_RTCAPBEN;
  (void)RCC->APB4ENR; /* the clocks are on after two cycles */
  PWR->CR1 |= PWR_CR1_DBP;
  EXTI->RTSR1 |= 1u << STOP_TIMER_LINE;
}

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

/* Over-drive has to be off before (RM0433, VOS0 activation/deactivation sequence), which takes the PLL's clock away. */
static inline void stop_family_select(void) {
#ifdef SYSCFG_PWRCR_ODEN
  if (board_clock.overdrive) {
    RCC->CFGR = 0;
    while (RCC->CFGR & RCC_CFGR_SWS) continue;
    SYSCFG->PWRCR &= ~SYSCFG_PWRCR_ODEN;
  }
#endif
  PWR->CPUCR &= ~(PWR_CPUCR_PDDS_D1 | PWR_CPUCR_PDDS_D2 | PWR_CPUCR_PDDS_D3);
  PWR->CR1 = (PWR->CR1 & ~PWR_CR1_SVOS) | PWR_CR1_SVOS_1;
}

/* Whether the clock of the core is that behind stop mode. */
static inline bool stop_family_is_slow(void) { return (RCC->CFGR & RCC_CFGR_SWS) != RCC_CFGR_SWS_PLL1; }

#endif
