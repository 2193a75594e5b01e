#include "clock_f0_f3.h"

bool clock_raise(const clock_settings_t *settings) {
  return raise_clock(settings, clock_apb_field(settings->apb1_divider) << RCC_CFGR_PPRE_Pos); /* the only APB */
}
