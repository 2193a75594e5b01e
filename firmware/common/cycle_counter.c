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
#ifdef CYCLE_TIMER_HIGH
#define TRIGGER_CYCLES 16u /* more than from an update to the timer that it clocks */

/* Updates of the other timer are its clock: internal trigger 0, which is selected after a reset. */
static void begin_high(void) {
  CYCLE_HIGH_CLOCK |= CYCLE_HIGH_CLOCK_ENABLE;
  (void)CYCLE_HIGH_CLOCK; /* the clock is on after two cycles */
  CYCLE_TIMER->CR2 = TIM_CR2_MMS_1;
  CYCLE_TIMER_HIGH->SMCR = TIM_SMCR_SMS_0 | TIM_SMCR_SMS_1 | TIM_SMCR_SMS_2;
  CYCLE_TIMER_HIGH->CR1 = TIM_CR1_CEN;
}

/* Not while an update is under way from one timer to the other. */
uint32_t cycle_counter_low(void) {
  uint32_t low, high;
  do {
    high = CYCLE_TIMER_HIGH->CNT;
    low = CYCLE_TIMER->CNT;
  } while (low < TRIGGER_CYCLES || high != CYCLE_TIMER_HIGH->CNT);
  return high << 16 | low;
}

void cycle_counter_jump(uint32_t low) {
  CYCLE_TIMER->CNT = 0; /* no update between the two */
  CYCLE_TIMER_HIGH->CNT = low >> 16;
  CYCLE_TIMER->CNT = low & UINT16_MAX;
}
#define TOP UINT16_MAX
#else
static inline void begin_high(void) {}
#define TOP UINT32_MAX
#endif

void cycle_counter_begin(void) {
  CYCLE_CLOCK |= CYCLE_CLOCK_ENABLE;
  (void)CYCLE_CLOCK; /* the clock is on after two cycles */
  CYCLE_TIMER->PSC = 0;
  CYCLE_TIMER->ARR = TOP;
  CYCLE_TIMER->EGR = TIM_EGR_UG; /* loads PSC */
  begin_high();
  CYCLE_TIMER->CR1 = TIM_CR1_CEN;
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
