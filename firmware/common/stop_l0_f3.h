/* Stop mode of the STM32F1, F3 and L0 (stop_family.h): EXTI, and SYSCFG or AFIO, which connects pins to its lines. */
#ifndef STOP_L0_F3_H
#define STOP_L0_F3_H

#include <stdbool.h>

#include "device.h"

#ifndef STOP_TIMER_LINE
#define STOP_TIMER_LINE 20u
#endif
#ifndef STOP_BACKUP_CLOCK
#define STOP_BACKUP_CLOCK 0u
#endif
#define STOP_EXTI_MASK EXTI->IMR

static inline void stop_family_begin(void) {
  RCC->APB1ENR |= RCC_APB1ENR_PWREN | STOP_BACKUP_CLOCK;
  RCC->APB2ENR |= RCC_APB2ENR_SYSCFGEN;
  (void)RCC->APB2ENR; /* the clock is on after two cycles */
  PWR->CR |= PWR_CR_DBP;
  EXTI->RTSR |= 1u << STOP_TIMER_LINE;
}

static inline void stop_family_connect(uint32_t port, uint32_t line) {
  uint32_t shift = 4u * (line % 4u);
  SYSCFG->EXTICR[line / 4u] = (SYSCFG->EXTICR[line / 4u] & ~(0xFu << shift)) | port << shift;
  EXTI->FTSR |= 1u << line;
}

/* Returns which of `lines` have had an edge, and clears them. */
static inline uint32_t stop_family_take_edges(uint32_t lines) {
  uint32_t edges = EXTI->PR & lines;
  EXTI->PR = lines;
  return edges;
}

/* Whether the clock of the core is that behind stop mode. */
static inline bool stop_family_is_slow(void) { return (RCC->CFGR & RCC_CFGR_SWS) != RCC_CFGR_SWS_PLL; }

#endif
