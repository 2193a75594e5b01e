/* Stop 2: RM0394, RM0351 and RM0432, sections Stop 2 mode and EXTI lines connections. HSI16 is the clock behind it. */
#ifndef STOP_FAMILY_H
#define STOP_FAMILY_H

#include <stdbool.h>

#include "device.h"

#define STOP_TIMER_LINE 20u
#define STOP_INTERRUPT_WORDS 2u
#define STOP_EXTI_MASK EXTI->IMR1

static inline void stop_family_begin(void) {
  RCC->APB1ENR1 |= RCC_APB1ENR1_PWREN;
#ifdef RCC_APB1ENR1_RTCAPBEN
  RCC->APB1ENR1 |= RCC_APB1ENR1_RTCAPBEN;
#endif
  RCC->APB2ENR |= RCC_APB2ENR_SYSCFGEN;
  (void)RCC->APB2ENR; /* the clock is on after two cycles */
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

/* Stop 2 would lose SRAM3, which only the L4+ has (RM0432, PWR_CR1 RRSTP). */
static inline void stop_family_select(void) {
#ifdef PWR_CR1_RRSTP
  PWR->CR1 |= PWR_CR1_RRSTP;
#endif
  PWR->CR1 = (PWR->CR1 & ~PWR_CR1_LPMS) | PWR_CR1_LPMS_STOP2;
  RCC->CFGR |= RCC_CFGR_STOPWUCK;
}

/* Whether the clock of the core is that behind stop mode. */
static inline bool stop_family_is_slow(void) { return (RCC->CFGR & RCC_CFGR_SWS) != RCC_CFGR_SWS_PLL; }

#endif
