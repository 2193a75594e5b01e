/* STM32L4 and L4+: HSI16 or HSE, and PLL output R. Voltage range 1, required for the maximum frequency, is the reset
 * state. */
#include "clock.h"
#include "clock_source.h"
#include "device.h"

#define BOOST_ONLY_HZ 80000000u
#define POLLS_OF_1_US 30u

/* Above 80 MHz: range 1 boost mode. ST's headers of devices without it lack the bit. */
static void start_boost(void) {
#ifdef PWR_CR5_R1MODE
  PWR->CR5 &= ~PWR_CR5_R1MODE;
#endif
}

/* Pins PG2 to PG15 have a separate supply (VDDIO2). */
static void start_vddio2(void) {
#ifdef PWR_CR2_IOSV
  PWR->CR2 |= PWR_CR2_IOSV;
#endif
}

static bool start_pll(const clock_settings_t *settings) {
  if (!clock_start_source()) return false;
  RCC->PLLCFGR = CLOCK_PLLSRC | (settings->pll_m - 1u) << RCC_PLLCFGR_PLLM_Pos |
                 (uint32_t)settings->pll_n << RCC_PLLCFGR_PLLN_Pos |
                 (settings->pll_r / 2u - 1u) << RCC_PLLCFGR_PLLR_Pos | RCC_PLLCFGR_PLLREN;
  RCC->CR |= RCC_CR_PLLON;
  return clock_wait(&RCC->CR, RCC_CR_PLLRDY, RCC_CR_PLLRDY);
}

/* A change of the frequency across 80 MHz requires an intermediate step at half the frequency for 1 us (RM0432,
 * PWR). */
static bool switch_to_pll(const clock_settings_t *settings) {
  uint32_t target = RCC_CFGR_SW_PLL | clock_ahb_field(settings->ahb_divider) << RCC_CFGR_HPRE_Pos |
                    clock_apb_field(settings->apb1_divider) << RCC_CFGR_PPRE1_Pos |
                    clock_apb_field(settings->apb2_divider) << RCC_CFGR_PPRE2_Pos;
  bool by_half = settings->core_hz > BOOST_ONLY_HZ;
  RCC->CFGR = by_half ? target | clock_ahb_field(2u) << RCC_CFGR_HPRE_Pos : target;
  if (!clock_wait(&RCC->CFGR, RCC_CFGR_SWS, RCC_CFGR_SWS_PLL)) {
    RCC->CFGR = 0;
    return false;
  }
  for (uint32_t polls = POLLS_OF_1_US; by_half && polls; polls--) (void)RCC->CFGR;
  RCC->CFGR = target;
  return true;
}

bool clock_raise(const clock_settings_t *settings) {
  uint32_t access = settings->flash_wait_states | FLASH_ACR_PRFTEN | FLASH_ACR_ICEN | FLASH_ACR_DCEN;
  RCC->APB1ENR1 |= RCC_APB1ENR1_PWREN;
  (void)RCC->APB1ENR1; /* the clock is on after two cycles */
  if (settings->vddio2) start_vddio2();
  if (settings->boost) start_boost();
  FLASH->ACR = access;
  if (!clock_wait(&FLASH->ACR, access, access)) return false;
  return start_pll(settings) && switch_to_pll(settings);
}
