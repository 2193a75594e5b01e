/* RM0433 and RM0468, section FLASH erase and program operations. */
#include "device.h"
#include "flash_banks.h"
#include "flash_memory.h"

#define KEY_1 0x45670123u
#define KEY_2 0xCDEF89ABu
/* WRPERR to RDSERR of SR; CCR clears them. Those of reads (ECC) say nothing of what is done. */
#define ERRORS 0x01EE0000u
#define SECTORS_OF_BANK 8u

static bool is_done(const flash_bank_t *bank) {
  while (bank->SR & FLASH_SR_QW) {
  }
  return !(bank->SR & ERRORS);
}

static void unlock(flash_bank_t *bank) {
  if (bank->CR & FLASH_CR_LOCK) { /* else keys would block it */
    bank->KEYR = KEY_1;
    bank->KEYR = KEY_2;
  }
  bank->CCR = ERRORS;
}

void flash_memory_open(void) {}

void flash_memory_close(uint32_t offset, uint32_t bytes) {
  SCB_InvalidateDCache_by_Addr((void *)(FLASH_BANK1_BASE + offset), (int32_t)bytes);
}

bool flash_memory_erase(uint32_t offset, const flash_sizes_t *sizes) {
  flash_bank_t *bank = flash_bank_at(offset);
  unlock(bank);
  bank->CR = FLASH_CR_SER | (offset / sizes->sector_bytes % SECTORS_OF_BANK) << FLASH_CR_SNB_Pos;
  bank->CR |= FLASH_CR_START;
  bool is_good = is_done(bank);
  bank->CR = FLASH_CR_LOCK;
  return is_good;
}

bool flash_memory_program(uint32_t offset, const uint32_t *words) {
  flash_bank_t *bank = flash_bank_at(offset);
  volatile uint32_t *to = (volatile uint32_t *)(FLASH_BANK1_BASE + offset);
  unlock(bank);
  bank->CR = FLASH_CR_PG;
  __ISB();
  __DSB();
  for (uint32_t i = 0; i < FLASH_UNIT_WORDS; i++) to[i] = words[i]; /* a flash word of 256 bits */
  __ISB();
  __DSB();
  bool is_good = is_done(bank);
  bank->CR = FLASH_CR_LOCK;
  return is_good;
}
