/* STM32H5: HSI divided by 2 as after a reset, or HSE, and PLL1 output P, at voltage scale VOS0. The ICACHE is on. With
 * TrustZone (TZEN) the clock stays as it is: registers may be out of reach.
 */
#include "clock.h"
#include "clock_source.h"
#include "device.h"
#include "icache.h"

#define TRUSTZONE_IS_ON (0xB4u << FLASH_OPTSR2_TZEN_Pos)
#define SELECTS_PLL RCC_CFGR1_SW
#define PLL_IS_USED RCC_CFGR1_SWS
#define ACCESS (FLASH_ACR_LATENCY | FLASH_ACR_WRHIGHFREQ)

/* VOS0 is 3. */
static bool raise_voltage(const clock_settings_t *settings) {
  uint32_t scale = 3u - settings->vos;
  uint32_t reached = PWR_VOSSR_VOSRDY | scale << PWR_VOSSR_ACTVOS_Pos;
  PWR->VOSCR = scale << PWR_VOSCR_VOS_Pos;
  return clock_wait(&PWR->VOSSR, PWR_VOSSR_VOSRDY | PWR_VOSSR_ACTVOS, reached);
}

/* The delay of programming signals has a step for every second wait state at VOS0. */
static bool slow_flash(uint32_t wait_states) {
  uint32_t access = wait_states | wait_states / 2u << FLASH_ACR_WRHIGHFREQ_Pos;
  FLASH->ACR = (FLASH->ACR & ~ACCESS) | access;
  return clock_wait(&FLASH->ACR, ACCESS, access);
}

/* PLL1RGE: 1 for 2..4 MHz, 2 for 4..8 MHz, 3 for 8..16 MHz. */
static uint32_t pll_input_range(uint32_t input_hz) {
  return input_hz >= 8000000u ? 3u : input_hz >= 4000000u ? 2u : 1u;
}

static bool start_pll(const clock_settings_t *settings) {
  if (!clock_start_source()) return false;
  uint32_t range = pll_input_range((CLOCK_HSE_HZ ? CLOCK_HSE_HZ : CLOCK_RESET_HZ) / settings->pll_m);
  RCC->PLL1CFGR = (CLOCK_HSE_HZ ? RCC_PLL1CFGR_PLL1SRC : RCC_PLL1CFGR_PLL1SRC_0) | range << RCC_PLL1CFGR_PLL1RGE_Pos |
                  (uint32_t)settings->pll_m << RCC_PLL1CFGR_PLL1M_Pos | RCC_PLL1CFGR_PLL1PEN;
  RCC->PLL1DIVR = (settings->pll_n - 1u) << RCC_PLL1DIVR_PLL1N_Pos | (settings->pll_r - 1u) << RCC_PLL1DIVR_PLL1P_Pos;
  RCC->CR |= RCC_CR_PLL1ON;
  return clock_wait(&RCC->CR, RCC_CR_PLL1RDY, RCC_CR_PLL1RDY);
}

bool clock_raise(const clock_settings_t *settings) {
  if ((FLASH->OPTSR2_CUR & FLASH_OPTSR2_TZEN) == TRUSTZONE_IS_ON) return false;
  icache_enable();
  if (!raise_voltage(settings) || !slow_flash(settings->flash_wait_states) || !start_pll(settings)) return false;
  RCC->CFGR2 = clock_ahb_field(settings->ahb_divider) << RCC_CFGR2_HPRE_Pos |
               clock_apb_field(settings->apb1_divider) << RCC_CFGR2_PPRE1_Pos |
               clock_apb_field(settings->apb2_divider) << RCC_CFGR2_PPRE2_Pos;
  RCC->CFGR1 = (RCC->CFGR1 & ~RCC_CFGR1_SW) | SELECTS_PLL;
  if (clock_wait(&RCC->CFGR1, RCC_CFGR1_SWS, PLL_IS_USED)) return true;
  RCC->CFGR1 &= ~RCC_CFGR1_SW;
  RCC->CFGR2 = 0;
  return false;
}
