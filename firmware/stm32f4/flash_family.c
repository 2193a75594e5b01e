/* RM0368 and RM0390, section Erase and program operations. */
#include "device.h"
#include "flash_control.h"
#include "flash_memory.h"

#define BUSY FLASH_SR_BSY
#define ERRORS 0x1F2u    /* OPERR to RDERR of SR */
#define WORDS_AT_A_TIME (2u << FLASH_CR_PSIZE_Pos) /* 32 bits: from 2.7 V */
#define SMALL_SHIFT 14u  /* sectors 0 to 3 have 16 KB */
#define LARGE_SHIFT 17u  /* from sector 5 on they have 128 KB */
#define LARGE_BEFORE 4u  /* number of a large sector less that of its 128 KB */
#define MIDDLE_START 0x10000u
#define BANK_SHIFT 20u   /* of devices with 2 MB */
#define SECOND_BANK 16u  /* code of its first sector */

static bool is_done(void) { return flash_control_is_done(BUSY, ERRORS); }

static uint32_t sector_at(uint32_t offset) {
  if (offset >> BANK_SHIFT) return SECOND_BANK + sector_at(offset & ((1u << BANK_SHIFT) - 1u));
  if (offset >> LARGE_SHIFT) return (offset >> LARGE_SHIFT) + LARGE_BEFORE;
  return offset < MIDDLE_START ? offset >> SMALL_SHIFT : MIDDLE_START >> SMALL_SHIFT;
}

void flash_memory_open(void) { flash_control_unlock(); }

void flash_memory_close(uint32_t offset, uint32_t bytes) {
  (void)offset;
  (void)bytes; /* caches forget all */
  flash_control_lock();
}

bool flash_memory_erase(uint32_t offset, const flash_sizes_t *sizes) {
  (void)sizes;
  FLASH->SR = ERRORS;
  FLASH->CR = FLASH_CR_SER | sector_at(offset) << FLASH_CR_SNB_Pos | WORDS_AT_A_TIME;
  FLASH->CR |= FLASH_CR_STRT;
  bool is_good = is_done();
  FLASH->CR = 0;
  return is_good;
}

bool flash_memory_program(uint32_t offset, const uint32_t *words) {
  volatile uint32_t *to = (volatile uint32_t *)(FLASH_BASE + offset);
  bool is_good = true;
  FLASH->SR = ERRORS;
  FLASH->CR = FLASH_CR_PG | WORDS_AT_A_TIME;
  for (uint32_t i = 0; i < FLASH_UNIT_WORDS && is_good; i++) {
    to[i] = words[i];
    is_good = is_done();
  }
  FLASH->CR = 0;
  return is_good;
}
