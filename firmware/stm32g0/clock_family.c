/* STM32G0: HSI16 or HSE, and PLL output R. Voltage range 1, required for the maximum frequency, is the reset state. */
#include "clock.h"
#include "clock_source.h"
#include "device.h"

static bool start_pll(const clock_settings_t *settings) {
  if (!clock_start_source()) return false;
  RCC->PLLCFGR = CLOCK_PLLSRC | (settings->pll_m - 1u) << RCC_PLLCFGR_PLLM_Pos |
                 (uint32_t)settings->pll_n << RCC_PLLCFGR_PLLN_Pos |
                 (settings->pll_r - 1u) << RCC_PLLCFGR_PLLR_Pos | RCC_PLLCFGR_PLLREN;
  RCC->CR |= RCC_CR_PLLON;
  return clock_wait(&RCC->CR, RCC_CR_PLLRDY, RCC_CR_PLLRDY);
}

bool clock_raise(const clock_settings_t *settings) {
  uint32_t wait_states = settings->flash_wait_states;
  FLASH->ACR = (FLASH->ACR & ~FLASH_ACR_LATENCY) | wait_states | FLASH_ACR_PRFTEN | FLASH_ACR_ICEN;
  if (!clock_wait(&FLASH->ACR, FLASH_ACR_LATENCY, wait_states)) return false;
  if (!start_pll(settings)) return false;
  RCC->CFGR = RCC_CFGR_SW_1 | clock_ahb_field(settings->ahb_divider) << RCC_CFGR_HPRE_Pos |
              clock_apb_field(settings->apb1_divider) << RCC_CFGR_PPRE_Pos;
  if (clock_wait(&RCC->CFGR, RCC_CFGR_SWS, RCC_CFGR_SWS_1)) return true;
  RCC->CFGR = 0;
  return false;
}
