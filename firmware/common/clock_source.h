/* What clock_family.c of all families needs. */
#ifndef CLOCK_SOURCE_H
#define CLOCK_SOURCE_H

#include "clock.h"
#include "device.h"

/* Polls until the bits of `mask` equal `value`; false after a bounded time. */
bool clock_wait(const volatile uint32_t *status, uint32_t mask, uint32_t value);

/* RCC fields of the dividers 1, 2, 4, 8, 16: 0, 4, 5, 6, 7 in 3 bits (PPRE); 0, 8, 9, 10, 11 in 4 bits (HPRE). */
uint32_t clock_apb_field(uint32_t divider);
uint32_t clock_ahb_field(uint32_t divider);

/* The field PLLSRC of RCC_PLLCFGR, which the H7 has elsewhere. */
#define CLOCK_PLLSRC (CLOCK_HSE_HZ ? RCC_PLLCFGR_PLLSRC_HSE : RCC_PLLCFGR_PLLSRC_HSI)

#ifndef LSI_HZ
#define LSI_HZ 32000u /* nominal: 17 to 47 kHz on F4 */
#endif

/* The bits of RCC_CR have the same names in all families. HSE is in bypass mode, as a clock feeds OSC_IN, unless
 * there is a crystal (CLOCK_HSE_CRYSTAL). HSEBYP is writable while HSE is off.
 */
static inline bool clock_start_source(void) {
  uint32_t ready = CLOCK_HSE_HZ ? RCC_CR_HSERDY : RCC_CR_HSIRDY;
#ifndef CLOCK_HSE_CRYSTAL
  if (CLOCK_HSE_HZ) RCC->CR |= RCC_CR_HSEBYP;
#endif
  RCC->CR |= CLOCK_HSE_HZ ? RCC_CR_HSEON : RCC_CR_HSION;
  return clock_wait(&RCC->CR, ready, ready);
}

#endif
