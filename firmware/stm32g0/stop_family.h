/* Stop 1: RM0444, sections Stop 1 mode and EXTI lines connections. HSISYS is the clock behind it. */
#ifndef STOP_FAMILY_H
#define STOP_FAMILY_H

#include <stdbool.h>

#include "device.h"

#define STOP_TIMER_LINE 19u /* direct: it has no edges */
#define STOP_INTERRUPT_WORDS 1u
#define STOP_EXTI_MASK EXTI->IMR1

static inline void stop_family_begin(void) {
  RCC->APBENR1 |= RCC_APBENR1_PWREN | RCC_APBENR1_RTCAPBEN;
  (void)RCC->APBENR1; /* the clocks are on after two cycles */
  PWR->CR1 |= PWR_CR1_DBP;
}

static inline void stop_family_connect(uint32_t port, uint32_t line) {
  uint32_t shift = 8u * (line % 4u);
  EXTI->EXTICR[line / 4u] = (EXTI->EXTICR[line / 4u] & ~(0xFFu << shift)) | port << shift;
  EXTI->FTSR1 |= 1u << line;
}

/* Returns which of `lines` have had an edge, and clears them. */
static inline uint32_t stop_family_take_edges(uint32_t lines) {
  uint32_t edges = EXTI->FPR1 & lines;
  EXTI->FPR1 = lines;
  return edges;
}

static inline void stop_family_select(void) { PWR->CR1 = (PWR->CR1 & ~PWR_CR1_LPMS) | PWR_CR1_LPMS_0; }

/* Whether the clock of the core is that behind stop mode. */
static inline bool stop_family_is_slow(void) { return (RCC->CFGR & RCC_CFGR_SWS) != RCC_CFGR_SWS_1; }

#endif
