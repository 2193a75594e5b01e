#include "ticker.h"

#include "clock.h"
#include "device.h"

#define TICKS_PER_SECOND 1000u

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
