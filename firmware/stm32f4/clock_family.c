/* STM32F4: HSI or HSE, and PLL output P, with the caches of the ART accelerator and prefetch enabled. */
#include "clock_f4_f7.h"

bool clock_raise(const clock_settings_t *settings) {
  return clock_raise_f4_f7(settings, FLASH_ACR_PRFTEN | FLASH_ACR_ICEN | FLASH_ACR_DCEN);
}
