/* The clock of STM32F0 and F3: HSI or HSE, divided by PREDIV, and the PLL. Lines without PREDIV for HSI divide it by 2.
 */
#ifndef CLOCK_F0_F3_H
#define CLOCK_F0_F3_H

#include "clock.h"
#include "clock_source.h"
#include "device.h"

#define LEAST_MULTIPLIER 2u
#define HSI_DIVIDER 2u

/* PLLSRC: HSI by 2, HSI by PREDIV (F07x, F09x, F302xD and xE, F303xD and xE), or HSE by PREDIV. */
static uint32_t pll_source(uint32_t divider) {
  if (CLOCK_HSE_HZ) return RCC_CFGR_PLLSRC_HSE_PREDIV;
#ifdef RCC_CFGR_PLLSRC_HSI_PREDIV
  if (divider != HSI_DIVIDER) return RCC_CFGR_PLLSRC_HSI_PREDIV;
#endif
  (void)divider;
  return 0;
}

static bool start_pll(const clock_settings_t *settings, uint32_t fields) {
  if (!clock_start_source()) return false;
  RCC->CFGR2 = settings->pll_m - 1u;
  RCC->CFGR = fields; /* before the PLL runs */
  RCC->CR |= RCC_CR_PLLON;
  return clock_wait(&RCC->CR, RCC_CR_PLLRDY, RCC_CR_PLLRDY);
}

/* As clock_raise, with these dividers of APB in CFGR. */
static bool raise_clock(const clock_settings_t *settings, uint32_t apb_dividers) {
  uint32_t fields = pll_source(settings->pll_m) | (settings->pll_n - LEAST_MULTIPLIER) << RCC_CFGR_PLLMUL_Pos |
                    clock_ahb_field(settings->ahb_divider) << RCC_CFGR_HPRE_Pos | apb_dividers;
  FLASH->ACR = settings->flash_wait_states | FLASH_ACR_PRFTBE;
  if (!clock_wait(&FLASH->ACR, FLASH_ACR_LATENCY, settings->flash_wait_states)) return false;
  if (start_pll(settings, fields)) {
    RCC->CFGR = fields | RCC_CFGR_SW_PLL;
    if (clock_wait(&RCC->CFGR, RCC_CFGR_SWS, RCC_CFGR_SWS_PLL)) return true;
  }
  RCC->CFGR = 0;
  return false;
}

#endif
