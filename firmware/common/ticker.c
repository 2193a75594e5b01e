#include "ticker.h"

#include "board.h"
#include "clock.h"
#include "host.h"
#include "interrupts.h"

#define TICKS_PER_SECOND 1000u

void SysTick_Handler(void);

/* UARTs keep priority 0, the highest, which they have at reset. */
void ticker_begin(void) { NVIC_SetPriority(SysTick_IRQn, (1u << __NVIC_PRIO_BITS) - 1u); }

void ticker_start(void) {
  SysTick->LOAD = clock_core_hz / TICKS_PER_SECOND - 1u;
  SysTick->VAL = 0;
  SysTick->CTRL = SysTick_CTRL_CLKSOURCE_Msk | SysTick_CTRL_TICKINT_Msk | SysTick_CTRL_ENABLE_Msk;
}

void ticker_stop(void) { SysTick->CTRL = 0; }

/* Each UART is held off for its own share only: a byte at 3 Mbaud leaves 3 us. */
void SysTick_Handler(void) {
  host_tick();
  for (uint8_t i = 0; i < board_link_count; i++) {
    uint32_t lock = interrupts_lock();
    link_tick(&board_links[i]);
    interrupts_unlock(lock);
  }
}
