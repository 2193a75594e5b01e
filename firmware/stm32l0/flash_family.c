/* RM0367, sections Unlocking the NVM, Flash memory page erase and Program a single word to Flash program memory. */
#include "device.h"
#include "flash_memory.h"

#define KEY_1 0x89ABCDEFu
#define KEY_2 0x02030405u
#define MEMORY_KEY_1 0x8C9DAEBFu
#define MEMORY_KEY_2 0x13141516u
#define PAGE_BYTES 128u
#define ERRORS \
  (FLASH_SR_WRPERR | FLASH_SR_PGAERR | FLASH_SR_SIZERR | FLASH_SR_RDERR | FLASH_SR_NOTZEROERR | FLASH_SR_FWWERR)

static volatile uint32_t *at(uint32_t offset) { return (volatile uint32_t *)(FLASH_BASE + offset); }

static bool is_done(void) {
  while (FLASH->SR & FLASH_SR_BSY) {
  }
  return !(FLASH->SR & ERRORS);
}

/* Keys where it is not locked would block it. */
void flash_memory_open(void) {
  if (FLASH->PECR & FLASH_PECR_PELOCK) {
    FLASH->PEKEYR = KEY_1;
    FLASH->PEKEYR = KEY_2;
  }
  if (FLASH->PECR & FLASH_PECR_PRGLOCK) {
    FLASH->PRGKEYR = MEMORY_KEY_1;
    FLASH->PRGKEYR = MEMORY_KEY_2;
  }
}

/* Buffers forget what is erased and programmed. */
void flash_memory_close(uint32_t offset, uint32_t bytes) {
  (void)offset;
  (void)bytes;
  FLASH->PECR |= FLASH_PECR_PELOCK; /* and with it PRGLOCK */
}

bool flash_memory_erase(uint32_t offset, const flash_sizes_t *sizes) {
  bool is_good = true;
  FLASH->SR = ERRORS;
  FLASH->PECR |= FLASH_PECR_ERASE | FLASH_PECR_PROG;
  for (uint32_t page = 0; page < sizes->sector_bytes && is_good; page += PAGE_BYTES) {
    *at(offset + page) = 0;
    is_good = is_done();
  }
  FLASH->PECR &= ~(FLASH_PECR_ERASE | FLASH_PECR_PROG);
  return is_good;
}

/* Half pages would take less time, from code in RAM. */
bool flash_memory_program(uint32_t offset, const uint32_t *words) {
  bool is_good = true;
  FLASH->SR = ERRORS;
  for (uint32_t i = 0; i < FLASH_UNIT_WORDS && is_good; i++) {
    at(offset)[i] = words[i];
    is_good = is_done();
  }
  return is_good;
}
