/* STM32WB: HSI16 or HSE, and PLL output R, in voltage range 1. The clock of the second core, which is not started, is
 * limited, too.
 */
#include "clock.h"
#include "clock_pll_r.h"
#include "device.h"

#define SECOND_CORE_BY_HALF RCC_EXTCFGR_C2HPRE_3 /* 32 MHz at most */

bool clock_raise(const clock_settings_t *settings) {
  RCC->EXTCFGR = SECOND_CORE_BY_HALF;
  return clock_raise_by_pll_r(settings);
}
