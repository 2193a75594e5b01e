/* STM32F1: HSI by 2, HSE or HSE by 2, and the PLL, whose largest multiplier makes 64 MHz of HSI. */
#include "clock.h"
#include "clock_source.h"
#include "device.h"

#define LEAST_MULTIPLIER 2u

static uint32_t pll_source(uint32_t divider) {
  if (!CLOCK_HSE_HZ) return 0;
  return divider > 1u ? RCC_CFGR_PLLSRC | RCC_CFGR_PLLXTPRE : RCC_CFGR_PLLSRC;
}

/* Lines up to 24 MHz have no wait states and no prefetch buffer. */
static bool set_flash(uint32_t wait_states) {
#ifdef FLASH_ACR_LATENCY
  FLASH->ACR = wait_states | FLASH_ACR_PRFTBE;
  return clock_wait(&FLASH->ACR, FLASH_ACR_LATENCY, wait_states);
#else
  return !wait_states;
#endif
}

bool clock_raise(const clock_settings_t *settings) {
  uint32_t fields = pll_source(settings->pll_m) | (settings->pll_n - LEAST_MULTIPLIER) << RCC_CFGR_PLLMULL_Pos |
                    clock_ahb_field(settings->ahb_divider) << RCC_CFGR_HPRE_Pos |
                    clock_apb_field(settings->apb1_divider) << RCC_CFGR_PPRE1_Pos |
                    clock_apb_field(settings->apb2_divider) << RCC_CFGR_PPRE2_Pos;
  if (!set_flash(settings->flash_wait_states)) return false;
  if (clock_start_source()) {
    RCC->CFGR = fields; /* before the PLL runs */
    RCC->CR |= RCC_CR_PLLON;
    if (clock_wait(&RCC->CR, RCC_CR_PLLRDY, RCC_CR_PLLRDY)) {
      RCC->CFGR = fields | RCC_CFGR_SW_PLL;
      if (clock_wait(&RCC->CFGR, RCC_CFGR_SWS, RCC_CFGR_SWS_PLL)) return true;
    }
  }
  RCC->CFGR = 0;
  return false;
}
