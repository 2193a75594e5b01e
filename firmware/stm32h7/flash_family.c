/* RM0433 and RM0468, section FLASH erase and program operations. */
#include "device.h"
#include "flash_memory.h"

#define KEY_1 0x45670123u
#define KEY_2 0xCDEF89ABu
#define ERRORS 0x07EE0000u /* WRPERR to DBECCERR of SR; CCR clears them */
#define BANK_REGISTERS_BYTES 0x100u
#define BANK_SHIFT 20u
#define SECTORS_OF_BANK 8u

/* The registers of a bank. */
typedef struct {
  volatile uint32_t reserved_0;
  volatile uint32_t KEYR; /* 0x04 */
  volatile uint32_t reserved_1;
  volatile uint32_t CR; /* 0x0C */
  volatile uint32_t SR;
  volatile uint32_t CCR;
} bank_t;

static bank_t *bank_at(uint32_t offset) {
  return (bank_t *)(FLASH_R_BASE + (offset >> BANK_SHIFT) * BANK_REGISTERS_BYTES);
}

static bool is_done(const bank_t *bank) {
  while (bank->SR & FLASH_SR_QW) {
  }
  return !(bank->SR & ERRORS);
}

static void unlock(bank_t *bank) {
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
  bank_t *bank = bank_at(offset);
  unlock(bank);
  bank->CR = FLASH_CR_SER | (offset / sizes->sector_bytes % SECTORS_OF_BANK) << FLASH_CR_SNB_Pos;
  bank->CR |= FLASH_CR_START;
  bool is_good = is_done(bank);
  bank->CR = FLASH_CR_LOCK;
  return is_good;
}

bool flash_memory_program(uint32_t offset, const uint32_t *words) {
  bank_t *bank = bank_at(offset);
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
