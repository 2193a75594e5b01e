#include "cycle_counter.h"

#ifdef DWT
#define DWT_KEY 0xC5ACCE55u

void cycle_counter_begin(void) {
  CoreDebug->DEMCR |= CoreDebug_DEMCR_TRCENA_Msk;
#if __CORTEX_M == 7
  DWT->LAR = DWT_KEY; /* unlocks the DWT where the core has this register */
#endif
  DWT->CYCCNT = 0;
  DWT->CTRL |= DWT_CTRL_CYCCNTENA_Msk;
}
#else
void cycle_counter_begin(void) {
  RCC->APBENR1 |= RCC_APBENR1_TIM2EN;
  (void)RCC->APBENR1; /* the clock is on after two cycles */
  TIM2->PSC = 0;
  TIM2->ARR = UINT32_MAX;
  TIM2->EGR = TIM_EGR_UG; /* loads PSC */
  TIM2->CR1 = TIM_CR1_CEN;
}
#endif
