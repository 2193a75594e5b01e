/* STM32L5: HSI16 or HSE, and PLL output R, in the voltage range of the settings. ICACHE is on. With TrustZone (TZEN)
 * the clock stays as it is: registers may be out of reach.
 */
#include "clock.h"
#include "clock_pll_r.h"
#include "device.h"
#include "icache.h"

bool clock_raise(const clock_settings_t *settings) {
  if (FLASH->OPTR & FLASH_OPTR_TZEN) return false;
  icache_enable();
  RCC->APB1ENR1 |= RCC_APB1ENR1_PWREN;
  (void)RCC->APB1ENR1; /* the clock is on after two cycles */
  if (settings->vddio2) PWR->CR2 |= PWR_CR2_IOSV; /* the supply of PG2 to PG15 */
  PWR->CR1 = (PWR->CR1 & ~PWR_CR1_VOS) | settings->vos << PWR_CR1_VOS_Pos;
  return clock_wait(&PWR->SR2, PWR_SR2_VOSF, 0) && clock_raise_by_pll_r(settings);
}
