/* STM32U5: HSI16 or HSE, and PLL1 output R, in voltage range 1 with the booster, which clocks above 55 MHz require. The
 * ICACHE is on. With TrustZone (TZEN) the clock stays as it is: registers may be out of reach.
 */
#include "clock.h"
#include "clock_source.h"
#include "device.h"
#include "icache.h"

#define HSI_HZ 16000000u
#define MOST_BOOSTER_HZ 16000000u
#define SELECTS_PLL RCC_CFGR1_SW
#define PLL_IS_USED RCC_CFGR1_SWS

/* Range 1 is 3. */
static bool raise_voltage(const clock_settings_t *settings) {
  RCC->AHB3ENR |= RCC_AHB3ENR_PWREN;
  (void)RCC->AHB3ENR; /* the clock is on after two cycles */
  PWR->VOSR = (PWR->VOSR & ~PWR_VOSR_VOS) | (4u - settings->vos) << PWR_VOSR_VOS_Pos;
  return clock_wait(&PWR->VOSR, PWR_VOSR_VOSRDY, PWR_VOSR_VOSRDY);
}

/* The booster runs from the PLL's source, divided by 1, 2 or 4. */
static uint32_t booster_divider(uint32_t source_hz) {
  if (source_hz <= MOST_BOOSTER_HZ) return 0u;
  return source_hz <= 2u * MOST_BOOSTER_HZ ? 1u : 2u;
}

static bool start_pll(const clock_settings_t *settings) {
  if (!clock_start_source()) return false;
  uint32_t source_hz = CLOCK_HSE_HZ ? CLOCK_HSE_HZ : HSI_HZ;
  uint32_t range = source_hz / settings->pll_m > 8000000u ? RCC_PLL1CFGR_PLL1RGE : 0u;
  RCC->PLL1CFGR = (CLOCK_HSE_HZ ? RCC_PLL1CFGR_PLL1SRC : RCC_PLL1CFGR_PLL1SRC_1) | range |
                  (settings->pll_m - 1u) << RCC_PLL1CFGR_PLL1M_Pos |
                  booster_divider(source_hz) << RCC_PLL1CFGR_PLL1MBOOST_Pos | RCC_PLL1CFGR_PLL1REN;
  RCC->PLL1DIVR = (settings->pll_n - 1u) << RCC_PLL1DIVR_PLL1N_Pos | (settings->pll_r - 1u) << RCC_PLL1DIVR_PLL1R_Pos;
  PWR->VOSR |= PWR_VOSR_BOOSTEN;
  if (!clock_wait(&PWR->VOSR, PWR_VOSR_BOOSTRDY, PWR_VOSR_BOOSTRDY)) return false;
  RCC->CR |= RCC_CR_PLL1ON;
  return clock_wait(&RCC->CR, RCC_CR_PLL1RDY, RCC_CR_PLL1RDY);
}

bool clock_raise(const clock_settings_t *settings) {
  if (FLASH->OPTR & FLASH_OPTR_TZEN) return false;
  icache_enable();
  if (!raise_voltage(settings)) return false;
  uint32_t wait_states = settings->flash_wait_states;
  FLASH->ACR = (FLASH->ACR & ~FLASH_ACR_LATENCY) | wait_states;
  if (!clock_wait(&FLASH->ACR, FLASH_ACR_LATENCY, wait_states)) return false;
  if (!start_pll(settings)) return false;
  RCC->CFGR2 = clock_ahb_field(settings->ahb_divider) << RCC_CFGR2_HPRE_Pos |
               clock_apb_field(settings->apb1_divider) << RCC_CFGR2_PPRE1_Pos |
               clock_apb_field(settings->apb2_divider) << RCC_CFGR2_PPRE2_Pos;
  RCC->CFGR1 = (RCC->CFGR1 & ~RCC_CFGR1_SW) | SELECTS_PLL;
  if (clock_wait(&RCC->CFGR1, RCC_CFGR1_SWS, PLL_IS_USED)) return true;
  RCC->CFGR1 &= ~RCC_CFGR1_SW;
  RCC->CFGR2 = 0;
  return false;
}
