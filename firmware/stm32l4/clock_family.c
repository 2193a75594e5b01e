/* STM32L4 and L4+: HSI16 or HSE, and PLL output R. Boost mode is that of the L4+, above 80 MHz. */
#include "clock.h"
#include "clock_pll_r.h"
#include "device.h"

/* Pins PG2 to PG15 have a separate supply (VDDIO2). */
static void start_vddio2(void) {
#ifdef PWR_CR2_IOSV
  PWR->CR2 |= PWR_CR2_IOSV;
#endif
}

bool clock_raise(const clock_settings_t *settings) {
  RCC->APB1ENR1 |= RCC_APB1ENR1_PWREN;
  (void)RCC->APB1ENR1; /* the clock is on after two cycles */
  if (settings->vddio2) start_vddio2();
  return clock_raise_by_pll_r(settings);
}
