/* RM0490, section FLASH main memory erase sequences and programming sequences. */
#include "flash_pages.h"

void flash_memory_open(void) { flash_control_unlock(); }

void flash_memory_close(uint32_t offset, uint32_t bytes) {
  (void)offset;
  (void)bytes; /* caches forget all */
  flash_control_lock();
}

bool flash_memory_erase(uint32_t offset, const flash_sizes_t *sizes) { return flash_pages_erase_sector(offset, sizes); }

bool flash_memory_program(uint32_t offset, const uint32_t *words) { return flash_pages_program(offset, words); }
