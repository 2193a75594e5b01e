/* The clock of STM32F4 and F7: HSI or HSE, and PLL output P; over-drive for the highest frequencies. Registers of PWR
 * have names for both in device.h, and their bits those of the F4.
 */
#ifndef CLOCK_F4_F7_H
#define CLOCK_F4_F7_H

#include "clock.h"
#include "clock_source.h"
#include "device.h"

/* The F401 has no over-drive, and ST's header for it lacks the bits. */
#ifdef PWR_CR_ODEN
static bool start_overdrive(void) {
  POWER_CONTROL |= PWR_CR_ODEN;
  if (!clock_wait(&POWER_STATUS, PWR_CSR_ODRDY, PWR_CSR_ODRDY)) return false;
  POWER_CONTROL |= PWR_CR_ODSWEN;
  return clock_wait(&POWER_STATUS, PWR_CSR_ODSWRDY, PWR_CSR_ODSWRDY);
}
#else
static bool start_overdrive(void) { return false; }
#endif

/* VOS is writable while the PLL is off and takes effect when it is on. Field values: 3 for scale 1, 1 for scale 3. */
static void set_voltage_scale(uint32_t scale) {
  RCC->APB1ENR |= RCC_APB1ENR_PWREN;
  (void)RCC->APB1ENR; /* the clock is on after two cycles */
  POWER_CONTROL = (POWER_CONTROL & ~PWR_CR_VOS) | (4u - scale) << PWR_CR_VOS_Pos;
}

static bool start_pll(const clock_settings_t *settings) {
  if (!clock_start_source()) return false;
  uint32_t others = RCC->PLLCFGR & ~(RCC_PLLCFGR_PLLM | RCC_PLLCFGR_PLLN | RCC_PLLCFGR_PLLP | RCC_PLLCFGR_PLLSRC);
  RCC->PLLCFGR = others | CLOCK_PLLSRC | (uint32_t)settings->pll_m << RCC_PLLCFGR_PLLM_Pos |
                 (uint32_t)settings->pll_n << RCC_PLLCFGR_PLLN_Pos |
                 (settings->pll_r / 2u - 1u) << RCC_PLLCFGR_PLLP_Pos;
  RCC->CR |= RCC_CR_PLLON;
  if (settings->overdrive && !start_overdrive()) return false;
  return clock_wait(&RCC->CR, RCC_CR_PLLRDY, RCC_CR_PLLRDY);
}

/* Raises the clock as `clock_raise` does, with these bits of FLASH_ACR beside the wait states. */
static inline bool clock_raise_f4_f7(const clock_settings_t *settings, uint32_t accelerated) {
  uint32_t access = settings->flash_wait_states | accelerated;
  set_voltage_scale(settings->vos);
  FLASH->ACR = access;
  if (!clock_wait(&FLASH->ACR, access, access)) return false;
  if (!start_pll(settings)) return false;
  RCC->CFGR = RCC_CFGR_SW_PLL | clock_ahb_field(settings->ahb_divider) << RCC_CFGR_HPRE_Pos |
              clock_apb_field(settings->apb1_divider) << RCC_CFGR_PPRE1_Pos |
              clock_apb_field(settings->apb2_divider) << RCC_CFGR_PPRE2_Pos;
  if (clock_wait(&RCC->CFGR, RCC_CFGR_SWS, RCC_CFGR_SWS_PLL)) return true;
  RCC->CFGR = 0;
  return false;
}

#endif
