/* RM0351, RM0394 and RM0432, section Flash main memory erase sequences and programming sequences. */
#include "device.h"
#include "flash_control.h"
#include "flash_memory.h"

#define ERRORS 0xC3FAu /* OPERR to OPTVERR of SR */
#define BUSY FLASH_SR_BSY
#define BANK_2 (1u << 11)  /* BKER, of devices with two banks */
#define PLUS_PAGE_BYTES 8192u
#define PLUS_TWO_BANKS (1u << 22) /* DBANK */

static bool is_done(void) { return flash_control_is_done(BUSY, ERRORS); }

void flash_memory_open(void) { flash_control_unlock(); }

void flash_memory_close(uint32_t offset, uint32_t bytes) {
  (void)offset;
  (void)bytes; /* caches forget all */
  flash_control_lock();
}

static bool erase_page(uint32_t page, uint32_t bank) {
  FLASH->SR = ERRORS;
  FLASH->CR = FLASH_CR_PER | page << FLASH_CR_PNB_Pos | bank;
  FLASH->CR |= FLASH_CR_STRT;
  bool is_good = is_done();
  FLASH->CR = 0;
  return is_good;
}

/* The L4+ has pages of 8 KB in one bank or of 4 KB in two, as an option bit says. */
bool flash_memory_erase(uint32_t offset, const flash_sizes_t *sizes) {
  if (sizes->sector_bytes != PLUS_PAGE_BYTES) {
    uint32_t bank = offset < sizes->bank_bytes ? 0u : BANK_2;
    return erase_page(offset % sizes->bank_bytes / sizes->sector_bytes, bank);
  }
  if (!(FLASH->OPTR & PLUS_TWO_BANKS)) return erase_page(offset / PLUS_PAGE_BYTES, 0);
  uint32_t bank = offset < sizes->bank_bytes ? 0u : BANK_2;
  uint32_t page = offset % sizes->bank_bytes / (PLUS_PAGE_BYTES / 2u);
  return erase_page(page, bank) && erase_page(page + 1u, bank);
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
