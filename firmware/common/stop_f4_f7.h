/* Stop mode of STM32F4 and F7, with the regulator in low-power mode and the flash in deep power-down: RM0368, RM0390,
 * RM0385 and RM0410, sections Stop mode and EXTI line mapping. HSI is the clock behind it, and over-drive is off.
 */
#ifndef STOP_F4_F7_H
#define STOP_F4_F7_H

#include <stdbool.h>

#include "device.h"

#define STOP_TIMER_LINE 22u
#define STOP_INTERRUPT_WORDS 2u
#define STOP_EXTI_MASK EXTI->IMR

static inline void stop_family_begin(void) {
  RCC->APB2ENR |= RCC_APB2ENR_SYSCFGEN;
  (void)RCC->APB2ENR; /* the clock is on after two cycles; clock_raise has enabled that of PWR */
  POWER_CONTROL |= PWR_CR_DBP;
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

static inline void stop_family_select(void) {
  POWER_CONTROL = (POWER_CONTROL & ~PWR_CR_PDDS) | PWR_CR_LPDS | PWR_CR_FPDS;
}

/* Whether the clock of the core is that behind stop mode. */
static inline bool stop_family_is_slow(void) { return (RCC->CFGR & RCC_CFGR_SWS) != RCC_CFGR_SWS_PLL; }

#endif
