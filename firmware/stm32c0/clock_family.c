/* STM32C0: HSI48 or HSE as they are; there is no PLL. */
#include "clock.h"
#include "clock_source.h"
#include "device.h"

#define SWITCH (CLOCK_HSE_HZ ? RCC_CFGR_SW_0 : 0u)
#define SWITCHED (CLOCK_HSE_HZ ? RCC_CFGR_SWS_0 : 0u)

bool clock_raise(const clock_settings_t *settings) {
  uint32_t wait_states = settings->flash_wait_states;
  FLASH->ACR = (FLASH->ACR & ~FLASH_ACR_LATENCY) | wait_states | FLASH_ACR_PRFTEN | FLASH_ACR_ICEN;
  if (!clock_wait(&FLASH->ACR, FLASH_ACR_LATENCY, wait_states)) return false;
  if (!clock_start_source()) return false;
  RCC->CFGR = SWITCH | clock_ahb_field(settings->ahb_divider) << RCC_CFGR_HPRE_Pos |
              clock_apb_field(settings->apb1_divider) << RCC_CFGR_PPRE_Pos;
  if (!clock_wait(&RCC->CFGR, RCC_CFGR_SWS, SWITCHED)) {
    RCC->CFGR = 0;
    return false;
  }
  if (!CLOCK_HSE_HZ) RCC->CR &= ~RCC_CR_HSIDIV;
  return true;
}
