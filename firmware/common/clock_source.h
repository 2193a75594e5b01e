/* The source of the PLL, for clock_family.c: the bits of RCC_CR have the same names in all families. */
#ifndef CLOCK_SOURCE_H
#define CLOCK_SOURCE_H

#include "clock.h"
#include "device.h"

/* The field PLLSRC of RCC_PLLCFGR, which the H7 has elsewhere. */
#define CLOCK_PLLSRC (CLOCK_HSE_HZ ? RCC_PLLCFGR_PLLSRC_HSE : RCC_PLLCFGR_PLLSRC_HSI)

/* HSE is in bypass mode: a clock feeds OSC_IN. HSEBYP is writable while HSE is off. */
static inline bool clock_start_source(void) {
  uint32_t ready = CLOCK_HSE_HZ ? RCC_CR_HSERDY : RCC_CR_HSIRDY;
  if (CLOCK_HSE_HZ) RCC->CR |= RCC_CR_HSEBYP;
  RCC->CR |= CLOCK_HSE_HZ ? RCC_CR_HSEON : RCC_CR_HSION;
  return clock_wait(&RCC->CR, ready, ready);
}

#endif
