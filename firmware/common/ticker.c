#include "ticker.h"

#include "clock.h"
#include "cycle_counter.h"
#include "device.h"
#include "interrupts.h"

#define TICKS_PER_SECOND 1000u
#define US_PER_MS 1000u

volatile uint32_t ticker_ms;

static volatile bool is_on;

void ticker_begin(void) { NVIC_SetPriority(SysTick_IRQn, (1u << __NVIC_PRIO_BITS) - 1u); }

void ticker_start(void) {
  if (is_on) return;
  is_on = true;
  SysTick->LOAD = clock_core_hz / TICKS_PER_SECOND - 1u;
  SysTick->VAL = 0;
  SysTick->CTRL = SysTick_CTRL_CLKSOURCE_Msk | SysTick_CTRL_TICKINT_Msk | SysTick_CTRL_ENABLE_Msk;
}

void ticker_stop(void) {
  is_on = false;
  SysTick->CTRL = 0;
}

uint32_t ticker_left(void) { return SysTick->VAL; }

/* SysTick counts core cycles down, also in Sleep mode, and ends it before it has counted a whole period. */
void ticker_sleep(void) {
  uint32_t left = SysTick->VAL;
  uint32_t counted = cycle_counter_low();
  __DSB();
  __WFI();
  uint32_t now = SysTick->VAL;
  uint32_t cycles = left >= now ? left - now : left + SysTick->LOAD + 1u - now;
  cycle_counter_set_forward(counted + cycles);
}

/* A millisecond that has ended while interrupts are masked is not counted in ticker_ms yet. The counter counts down; it
 * is 0 when a period begins. */
uint32_t ticker_us(void) {
  uint32_t lock = interrupts_lock();
  uint32_t left = SysTick->VAL;
  uint32_t ms = ticker_ms;
  if (SCB->ICSR & SCB_ICSR_PENDSTSET_Msk) {
    left = SysTick->VAL;
    ms++;
  }
  interrupts_unlock(lock);
  uint32_t period = clock_core_hz / TICKS_PER_SECOND;
  return ms * US_PER_MS + (left ? (period - left) * US_PER_MS / period : 0u);
}
