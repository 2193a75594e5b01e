#include "cycle_counter.h"

#include "interrupts.h"

static uint32_t wraps;
static uint32_t newest;

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

uint64_t cycle_counter_now(void) {
  uint32_t lock = interrupts_lock();
  uint32_t low = cycle_counter_low();
  if (low < newest) wraps++;
  newest = low;
  uint64_t now = (uint64_t)wraps << 32 | low;
  interrupts_unlock(lock);
  return now;
}
