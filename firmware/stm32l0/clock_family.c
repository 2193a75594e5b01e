/* STM32L0: HSI16 or HSE, and the PLL, in voltage range 1. */
#include "clock.h"
#include "clock_source.h"
#include "device.h"

#define LEAST_DIVIDER 2u

/* Values of PLLMUL. */
static const uint8_t multipliers[] = {3, 4, 6, 8, 12, 16, 24, 32, 48};

static uint32_t multiplier_field(uint32_t multiplier) {
  uint32_t field = 0;
  while (multipliers[field] < multiplier) field++;
  return field;
}

static bool set_voltage_range(uint32_t range) {
  RCC->APB1ENR |= RCC_APB1ENR_PWREN;
  (void)RCC->APB1ENR; /* the clock is on after two cycles */
  PWR->CR = (PWR->CR & ~PWR_CR_VOS) | range << PWR_CR_VOS_Pos;
  return clock_wait(&PWR->CSR, PWR_CSR_VOSF, 0);
}

static bool set_flash(uint32_t wait_states) {
  FLASH->ACR |= FLASH_ACR_PRFTEN;
  FLASH->ACR |= wait_states;
  return clock_wait(&FLASH->ACR, FLASH_ACR_LATENCY, wait_states);
}

bool clock_raise(const clock_settings_t *settings) {
  if (!set_voltage_range(settings->vos) || !set_flash(settings->flash_wait_states)) return false;
  if (!clock_start_source()) return false;
  uint32_t target = multiplier_field(settings->pll_n) << RCC_CFGR_PLLMUL_Pos |
                    (settings->pll_r - LEAST_DIVIDER + 1u) << RCC_CFGR_PLLDIV_Pos |
                    (CLOCK_HSE_HZ ? RCC_CFGR_PLLSRC_HSE : 0u) |
                    clock_ahb_field(settings->ahb_divider) << RCC_CFGR_HPRE_Pos |
                    clock_apb_field(settings->apb1_divider) << RCC_CFGR_PPRE1_Pos |
                    clock_apb_field(settings->apb2_divider) << RCC_CFGR_PPRE2_Pos;
  uint32_t before = RCC->CFGR & (RCC_CFGR_STOPWUCK | RCC_CFGR_SW);
  RCC->CFGR = target | before; /* before the PLL runs */
  RCC->CR |= RCC_CR_PLLON;
  if (clock_wait(&RCC->CR, RCC_CR_PLLRDY, RCC_CR_PLLRDY)) {
    RCC->CFGR = target | before | RCC_CFGR_SW_PLL;
    if (clock_wait(&RCC->CFGR, RCC_CFGR_SWS, RCC_CFGR_SWS_PLL)) return true;
  }
  RCC->CFGR = before;
  return false;
}
