/* STM32H7: HSI or HSE, and PLL1 output P at voltage scale 0, with both caches enabled. */
#include "clock.h"
#include "clock_caches.h"
#include "clock_source.h"
#include "device.h"

/* PLL1RGE: range of the PLL's input frequency: 1 for 2..4 MHz, 2 for 4..8 MHz, 3 for 8..16 MHz. */
static uint32_t pll_input_range(uint32_t input_hz) {
  return input_hz >= 8000000u ? 3u : input_hz >= 4000000u ? 2u : 1u;
}

/* Field values: 3 for VOS1, 1 for VOS3. VOS0 is 0 on the H723, and VOS1 with over-drive on the H743. */
static bool set_voltage_scale(const clock_settings_t *settings) {
  uint32_t scale = settings->overdrive ? 1u : settings->vos;
  PWR->CR3 = (PWR->CR3 & ~(PWR_CR3_SCUEN | PWR_CR3_BYPASS)) | PWR_CR3_LDOEN; /* VOS is locked until CR3 is written */
  if (!clock_wait(&PWR->CSR1, PWR_CSR1_ACTVOSRDY, PWR_CSR1_ACTVOSRDY)) return false;
  PWR->D3CR = (PWR->D3CR & ~PWR_D3CR_VOS) | ((4u - scale) & 3u) << PWR_D3CR_VOS_Pos;
  return clock_wait(&PWR->D3CR, PWR_D3CR_VOSRDY, PWR_D3CR_VOSRDY);
}

/* ST's headers of devices without over-drive lack the bit. */
static bool start_overdrive(void) {
#ifdef SYSCFG_PWRCR_ODEN
  RCC->APB4ENR |= RCC_APB4ENR_SYSCFGEN;
  (void)RCC->APB4ENR; /* the clock is on after two cycles */
  SYSCFG->PWRCR |= SYSCFG_PWRCR_ODEN;
  return clock_wait(&PWR->D3CR, PWR_D3CR_VOSRDY, PWR_D3CR_VOSRDY);
#else
  return false;
#endif
}

/* On the H723, the highest frequencies require an option bit, which the firmware does not program. */
static bool is_boost_allowed(void) {
#ifdef FLASH_OPTSR2_CPUFREQ_BOOST
  return (FLASH->OPTSR2_CUR & FLASH_OPTSR2_CPUFREQ_BOOST) != 0;
#else
  return false;
#endif
}

static bool start_pll(const clock_settings_t *settings) {
  if (CLOCK_HSE_HZ && !clock_start_source()) return false; /* HSI runs since reset */
  uint32_t range = pll_input_range((CLOCK_HSE_HZ ? CLOCK_HSE_HZ : CLOCK_RESET_HZ) / settings->pll_m);
  RCC->PLLCKSELR = (CLOCK_HSE_HZ ? RCC_PLLCKSELR_PLLSRC_HSE : RCC_PLLCKSELR_PLLSRC_HSI) |
                   (uint32_t)settings->pll_m << RCC_PLLCKSELR_DIVM1_Pos;
  RCC->PLLCFGR = range << RCC_PLLCFGR_PLL1RGE_Pos | RCC_PLLCFGR_DIVP1EN;
  RCC->PLL1DIVR = (settings->pll_n - 1u) << RCC_PLL1DIVR_N1_Pos | (settings->pll_r - 1u) << RCC_PLL1DIVR_P1_Pos;
  RCC->CR |= RCC_CR_PLL1ON;
  return clock_wait(&RCC->CR, RCC_CR_PLL1RDY, RCC_CR_PLL1RDY);
}

static void divide_buses(uint32_t ahb, uint32_t apb1, uint32_t apb2) {
  RCC->D1CFGR = clock_ahb_field(ahb) << RCC_D1CFGR_HPRE_Pos | clock_apb_field(apb1) << RCC_D1CFGR_D1PPRE_Pos;
  RCC->D2CFGR = clock_apb_field(apb1) << RCC_D2CFGR_D2PPRE1_Pos | clock_apb_field(apb2) << RCC_D2CFGR_D2PPRE2_Pos;
  RCC->D3CFGR = clock_apb_field(apb1) << RCC_D3CFGR_D3PPRE_Pos;
}

bool clock_raise(const clock_settings_t *settings) {
  clock_enable_caches();
  if (settings->boost && !is_boost_allowed()) return false;
  if (!set_voltage_scale(settings)) return false;
  if (settings->overdrive && !start_overdrive()) return false;
  uint32_t wait_states = settings->flash_wait_states;
  FLASH->ACR = (FLASH->ACR & ~FLASH_ACR_LATENCY) | wait_states;
  if (!clock_wait(&FLASH->ACR, FLASH_ACR_LATENCY, wait_states)) return false;
  if (!start_pll(settings)) return false;
  divide_buses(settings->ahb_divider, settings->apb1_divider, settings->apb2_divider);
  RCC->CFGR = RCC_CFGR_SW_PLL1;
  if (clock_wait(&RCC->CFGR, RCC_CFGR_SWS, RCC_CFGR_SWS_PLL1)) return true;
  RCC->CFGR = 0;
  divide_buses(1, 1, 1);
  return false;
}
