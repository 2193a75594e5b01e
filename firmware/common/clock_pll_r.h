/* The clock tree of the STM32L4, L4+, G4, L5, WB and WL: PLL output R from HSI16 or HSE, with the core voltage in range
 * 1, which is the reset state, or of the L5 in range 0. device.h has CLOCK_RESET_CFGR, the value of RCC_CFGR that
 * selects the clock after a reset.
 */
#ifndef CLOCK_PLL_R_H
#define CLOCK_PLL_R_H

#include "clock_source.h"

#define CLOCK_BY_HALF_HZ 80000000u
#define CLOCK_POLLS_OF_1_US 30u

#ifndef CLOCK_PLLR_FIELD /* of divider R, which is even but for WB and WL */
#define CLOCK_PLLR_FIELD(r) ((r) / 2u - 1u)
#endif

#ifndef CLOCK_FLASH_CACHES /* bits of FLASH_ACR */
#define CLOCK_FLASH_CACHES (FLASH_ACR_PRFTEN | FLASH_ACR_ICEN | FLASH_ACR_DCEN)
#endif

/* Range 1 boost mode. ST's headers of devices without it lack the bit. */
static inline void clock_start_boost(void) {
#ifdef PWR_CR5_R1MODE
  PWR->CR5 &= ~PWR_CR5_R1MODE;
#endif
}

static inline bool clock_start_pll(const clock_settings_t *settings) {
  if (!clock_start_source()) return false;
  RCC->PLLCFGR = CLOCK_PLLSRC | (settings->pll_m - 1u) << RCC_PLLCFGR_PLLM_Pos |
                 (uint32_t)settings->pll_n << RCC_PLLCFGR_PLLN_Pos |
                 CLOCK_PLLR_FIELD(settings->pll_r) << RCC_PLLCFGR_PLLR_Pos | RCC_PLLCFGR_PLLREN;
  RCC->CR |= RCC_CR_PLLON;
  return clock_wait(&RCC->CR, RCC_CR_PLLRDY, RCC_CR_PLLRDY);
}

/* A change of the frequency across 80 MHz requires an intermediate step at half the frequency for 1 us (RM0432 and
 * RM0440, PWR). */
static inline bool clock_switch_to_pll(const clock_settings_t *settings) {
  uint32_t target = RCC_CFGR_SW_PLL | clock_ahb_field(settings->ahb_divider) << RCC_CFGR_HPRE_Pos |
                    clock_apb_field(settings->apb1_divider) << RCC_CFGR_PPRE1_Pos |
                    clock_apb_field(settings->apb2_divider) << RCC_CFGR_PPRE2_Pos;
  bool by_half = settings->core_hz > CLOCK_BY_HALF_HZ;
  RCC->CFGR = by_half ? target | clock_ahb_field(2u) << RCC_CFGR_HPRE_Pos : target;
  if (!clock_wait(&RCC->CFGR, RCC_CFGR_SWS, RCC_CFGR_SWS_PLL)) {
    RCC->CFGR = CLOCK_RESET_CFGR;
    return false;
  }
  for (uint32_t polls = CLOCK_POLLS_OF_1_US; by_half && polls; polls--) (void)RCC->CFGR;
  RCC->CFGR = target;
  return true;
}

/* All of clock_raise, with the clock of PWR on. */
static inline bool clock_raise_by_pll_r(const clock_settings_t *settings) {
  uint32_t access = settings->flash_wait_states | CLOCK_FLASH_CACHES;
  if (settings->boost) clock_start_boost();
  FLASH->ACR = access;
  if (!clock_wait(&FLASH->ACR, access, access)) return false;
  return clock_start_pll(settings) && clock_switch_to_pll(settings);
}

#endif
