/* RM0444, section FLASH main memory erase sequences and programming sequences. */
#include "device.h"
#include "flash_control.h"
#include "flash_memory.h"

#define ERRORS 0xC3FAu /* OPERR to OPTVERR of SR */
#define BUSY (FLASH_SR_BSY1 | 1u << 17 | FLASH_SR_CFGBSY) /* bit 17: BSY2 of devices with two banks */
#define BANK_2 (1u << 13)  /* BKER, of devices with two banks */

static bool is_done(void) { return flash_control_is_done(BUSY, ERRORS); }

void flash_memory_open(void) { flash_control_unlock(); }

void flash_memory_close(uint32_t offset, uint32_t bytes) {
  (void)offset;
  (void)bytes; /* caches forget all */
  flash_control_lock();
}

bool flash_memory_erase(uint32_t offset, const flash_sizes_t *sizes) {
  uint32_t page = offset % sizes->bank_bytes / sizes->sector_bytes;
  uint32_t bank = offset < sizes->bank_bytes ? 0u : BANK_2;
  FLASH->SR = ERRORS;
  FLASH->CR = FLASH_CR_PER | page << FLASH_CR_PNB_Pos | bank;
  FLASH->CR |= FLASH_CR_STRT;
  bool is_good = is_done();
  FLASH->CR = 0;
  return is_good;
}

bool flash_memory_program(uint32_t offset, const uint32_t *words) {
  volatile uint32_t *to = (volatile uint32_t *)(FLASH_BASE + offset);
  bool is_good = true;
  FLASH->SR = ERRORS;
  FLASH->CR = FLASH_CR_PG;
  for (uint32_t i = 0; i < FLASH_UNIT_WORDS && is_good; i += 2) { /* a double word at a time */
    to[i] = words[i];
    to[i + 1] = words[i + 1];
    is_good = is_done();
  }
  FLASH->CR = 0;
  return is_good;
}
