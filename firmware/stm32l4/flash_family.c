/* RM0351, RM0394 and RM0432, section Flash main memory erase sequences and programming sequences. */
#include "device.h"
#include "flash_memory.h"

#define KEY_1 0x45670123u
#define KEY_2 0xCDEF89ABu
#define ERRORS 0xC3FAu /* OPERR to OPTVERR of SR */
#define BUSY FLASH_SR_BSY
#define BANK_2 (1u << 11)  /* BKER, of devices with two banks */
#define PLUS_PAGE_BYTES 8192u
#define PLUS_TWO_BANKS (1u << 22) /* DBANK */
#define CACHES (FLASH_ACR_ICEN | FLASH_ACR_DCEN)
#define CACHES_RESET (FLASH_ACR_ICRST | FLASH_ACR_DCRST)

static bool is_done(void) {
  while (FLASH->SR & BUSY) {
  }
  return !(FLASH->SR & ERRORS);
}

/* The data cache is off meanwhile: errata of F42x and of L4 with two banks, reads while another bank is written. */
void flash_memory_open(void) {
  FLASH->ACR &= ~FLASH_ACR_DCEN;
  if (!(FLASH->CR & FLASH_CR_LOCK)) return; /* keys would block it */
  FLASH->KEYR = KEY_1;
  FLASH->KEYR = KEY_2;
}

void flash_memory_close(uint32_t offset, uint32_t bytes) {
  (void)offset;
  (void)bytes; /* caches forget all */
  uint32_t settings = FLASH->ACR | FLASH_ACR_DCEN;
  FLASH->CR = FLASH_CR_LOCK;
  FLASH->ACR = settings & ~CACHES;
  FLASH->ACR = (settings & ~CACHES) | CACHES_RESET;
  FLASH->ACR = settings;
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
