/* STM32G4: HSI16 or HSE, and PLL output R. Boost mode is for clocks above 150 MHz. */
#include "clock.h"
#include "clock_pll_r.h"
#include "device.h"

bool clock_raise(const clock_settings_t *settings) {
  RCC->APB1ENR1 |= RCC_APB1ENR1_PWREN;
  (void)RCC->APB1ENR1; /* the clock is on after two cycles */
  return clock_raise_by_pll_r(settings);
}
