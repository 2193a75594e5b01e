/* Erases pages and programs half-words: the flash controllers of the STM32F0, F1 and F3. RM0091, PM0075, RM0316 and
 * RM0365, sections Page erase and Main flash memory programming. Their device.h defines FLASH_HALF_WORDS.
 */
#include "device.h"

#ifdef FLASH_HALF_WORDS
#include "flash_control.h"
#include "flash_memory.h"

#define ERRORS (FLASH_SR_PGERR | FLASH_SR_WRPERR)
#define HALF_WORD_BITS 16u

void flash_memory_open(void) { flash_control_unlock(); }

/* Its prefetch buffer is for code alone. */
void flash_memory_close(uint32_t offset, uint32_t bytes) {
  (void)offset;
  (void)bytes;
  flash_control_lock();
}

bool flash_memory_erase(uint32_t offset, const flash_sizes_t *sizes) {
  (void)sizes; /* a sector is a page */
  FLASH->SR = ERRORS;
  FLASH->CR = FLASH_CR_PER;
  FLASH->AR = FLASH_BASE + offset;
  FLASH->CR |= FLASH_CR_STRT;
  bool is_good = flash_control_is_done(FLASH_SR_BSY, ERRORS);
  FLASH->CR = 0;
  return is_good;
}

bool flash_memory_program(uint32_t offset, const uint32_t *words) {
  volatile uint16_t *to = (volatile uint16_t *)(FLASH_BASE + offset);
  bool is_good = true;
  FLASH->SR = ERRORS;
  FLASH->CR = FLASH_CR_PG;
  for (uint32_t i = 0; i < 2u * FLASH_UNIT_WORDS && is_good; i++) {
    to[i] = (uint16_t)(words[i / 2u] >> HALF_WORD_BITS * (i % 2u));
    is_good = flash_control_is_done(FLASH_SR_BSY, ERRORS);
  }
  FLASH->CR = 0;
  return is_good;
}

#endif
