/* STM32WL: HSI16 or HSE32, and PLL output R, in voltage range 1. The second core, which is not started, may be as fast.
 */
#include "clock.h"
#include "clock_pll_r.h"
#include "device.h"

bool clock_raise(const clock_settings_t *settings) { return clock_raise_by_pll_r(settings); }
