#include "flash_f4_f7.h"

#define ERRORS 0x1F2u /* OPERR to RDERR of SR */
#define LARGE_SHIFT 17u /* sectors of 16, 64 and 128 KB */
#define BANK_SHIFT 20u  /* of devices with 2 MB */
#define SECOND_BANK 16u /* code of its first sector */

static uint32_t sector_at(uint32_t offset) {
  uint32_t first = offset >> BANK_SHIFT ? SECOND_BANK : 0u;
  return first + flash_f4_f7_sector(offset & ((1u << BANK_SHIFT) - 1u), LARGE_SHIFT);
}

void flash_memory_open(void) { flash_control_unlock(); }

void flash_memory_close(uint32_t offset, uint32_t bytes) {
  (void)offset;
  (void)bytes; /* caches forget all */
  flash_control_lock();
}

bool flash_memory_erase(uint32_t offset, const flash_sizes_t *sizes) {
  (void)sizes;
  return flash_f4_f7_erase(sector_at(offset), ERRORS);
}

bool flash_memory_program(uint32_t offset, const uint32_t *words) {
  return flash_f4_f7_program(offset, words, ERRORS);
}
