/* Erases pages and programs double words, of U5 and H5 four words: flash controllers of the STM32C0, G0, G4, L4, L5,
 * WB, WL, U5, H5. RM0490, RM0444, RM0440, RM0351, RM0394, RM0432, RM0438, RM0434, RM0453, RM0456, RM0481, sections
 * Flash main memory erase sequences and programming sequences. Their device.h has
 *
 *   FLASH_PAGES_BUSY    bits of SR while an operation is under way
 *   FLASH_PAGES_BANK_2  BKER, of devices with two banks
 *   FLASH_PAGES_WORDS   that are programmed at a time, if not 2
 *   FLASH_PAGES_ERRORS  bits of SR, if not OPERR to OPTVERR
 *   FLASH_PAGES_CLEAR   the register that clears them, if not SR
 *
 * and, where an option bit makes one or two banks,
 *
 *   FLASH_PAGES_PAIR_BYTES  a page in one bank, which is two of half the size in two banks
 *   FLASH_PAGES_TWO_BANKS   DBANK in OPTR
 *
 * Other families have flash_family.c.
 */
#include "device.h"

#ifdef FLASH_PAGES_BUSY
#include "flash_control.h"
#include "flash_memory.h"

#ifndef FLASH_PAGES_WORDS
#define FLASH_PAGES_WORDS 2u
#endif
#ifndef FLASH_PAGES_ERRORS
#define FLASH_PAGES_ERRORS 0xC3FAu
#endif
#ifndef FLASH_PAGES_CLEAR
#define FLASH_PAGES_CLEAR FLASH_STATUS
#endif

void flash_memory_open(void) { flash_control_unlock(); }

void flash_memory_close(uint32_t offset, uint32_t bytes) {
  (void)offset;
  (void)bytes; /* caches forget all */
  flash_control_lock();
}

static bool erase_page(uint32_t page, uint32_t bank) {
  FLASH_PAGES_CLEAR = FLASH_PAGES_ERRORS;
  FLASH_CONTROL = FLASH_CR_PER | page << FLASH_CR_PNB_Pos | bank;
  FLASH_CONTROL |= FLASH_CR_STRT;
  bool is_good = flash_control_is_done(FLASH_PAGES_BUSY, FLASH_PAGES_ERRORS);
  FLASH_CONTROL = 0;
  return is_good;
}

bool flash_memory_erase(uint32_t offset, const flash_sizes_t *sizes) {
  uint32_t page_bytes = sizes->sector_bytes;
#ifdef FLASH_PAGES_PAIR_BYTES
  bool is_pair = page_bytes == FLASH_PAGES_PAIR_BYTES;
  if (is_pair && !(FLASH->OPTR & FLASH_PAGES_TWO_BANKS)) return erase_page(offset / page_bytes, 0);
  if (is_pair) page_bytes /= 2u;
#endif
#ifdef FLASH_PAGES_BANK_2
  uint32_t bank = offset < sizes->bank_bytes ? 0u : FLASH_PAGES_BANK_2;
#else
  uint32_t bank = 0;
#endif
  uint32_t page = offset % sizes->bank_bytes / page_bytes;
  bool is_one = page_bytes == sizes->sector_bytes;
  return erase_page(page, bank) && (is_one || erase_page(page + 1u, bank));
}

bool flash_memory_program(uint32_t offset, const uint32_t *words) {
  volatile uint32_t *to = (volatile uint32_t *)(FLASH_BASE + offset);
  bool is_good = true;
  FLASH_PAGES_CLEAR = FLASH_PAGES_ERRORS;
  FLASH_CONTROL = FLASH_CR_PG;
  for (uint32_t i = 0; i < FLASH_UNIT_WORDS && is_good; i += FLASH_PAGES_WORDS) {
    for (uint32_t j = i; j < i + FLASH_PAGES_WORDS; j++) to[j] = words[j];
    is_good = flash_control_is_done(FLASH_PAGES_BUSY, FLASH_PAGES_ERRORS);
  }
  FLASH_CONTROL = 0;
  return is_good;
}

#endif
