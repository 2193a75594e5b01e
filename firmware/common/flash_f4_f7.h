/* The flash of STM32F4 and F7: sectors of three sizes. RM0368, RM0390, RM0385 and RM0410, section Erase and program
 * operations.
 */
#ifndef FLASH_F4_F7_H
#define FLASH_F4_F7_H

#include "device.h"
#include "flash_control.h"
#include "flash_memory.h"

#define WORDS_AT_A_TIME (2u << FLASH_CR_PSIZE_Pos) /* 32 bits: from 2.7 V */
#define LARGE_BEFORE 4u /* number of a large sector less that of its 2^large_shift bytes */

/* The number of the sector at `offset`: four small sectors, one of as much as they, and large ones of twice that. */
static inline uint32_t flash_f4_f7_sector(uint32_t offset, uint32_t large_shift) {
  uint32_t large = offset >> large_shift;
  uint32_t small = offset >> (large_shift - 3u);
  if (large) return large + LARGE_BEFORE;
  return small < LARGE_BEFORE ? small : LARGE_BEFORE;
}

static inline bool flash_f4_f7_erase(uint32_t sector, uint32_t errors) {
  FLASH->SR = errors;
  FLASH->CR = FLASH_CR_SER | sector << FLASH_CR_SNB_Pos | WORDS_AT_A_TIME;
  FLASH->CR |= FLASH_CR_STRT;
  bool is_good = flash_control_is_done(FLASH_SR_BSY, errors);
  FLASH->CR = 0;
  return is_good;
}

static inline bool flash_f4_f7_program(uint32_t offset, const uint32_t *words, uint32_t errors) {
  volatile uint32_t *to = (volatile uint32_t *)(FLASH_BASE + offset);
  bool is_good = true;
  FLASH->SR = errors;
  FLASH->CR = FLASH_CR_PG | WORDS_AT_A_TIME;
  for (uint32_t i = 0; i < FLASH_UNIT_WORDS && is_good; i++) {
    to[i] = words[i];
#if __CORTEX_M == 7
    __DSB(); /* its store buffer may make one write of two */
#endif
    is_good = flash_control_is_done(FLASH_SR_BSY, errors);
  }
  FLASH->CR = 0;
  return is_good;
}

#endif
