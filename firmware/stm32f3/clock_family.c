#include "clock_f0_f3.h"

/* USART1 has the clock of AHB, which is that of APB2: on lines with few peripherals it would have that of APB1. */
bool clock_raise(const clock_settings_t *settings) {
  RCC->CFGR3 = RCC_CFGR3_USART1SW_SYSCLK;
  return raise_clock(settings, clock_apb_field(settings->apb1_divider) << RCC_CFGR_PPRE1_Pos |
                                   clock_apb_field(settings->apb2_divider) << RCC_CFGR_PPRE2_Pos);
}
