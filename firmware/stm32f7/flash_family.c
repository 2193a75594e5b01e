#include "flash_f4_f7.h"

#define ERRORS 0xF2u    /* OPERR to ERSERR of SR */
#define LARGE_SHIFT 18u /* sectors of 32, 128 and 256 KB in one bank, as delivered */

void flash_memory_open(void) { flash_control_unlock(); }

void flash_memory_close(uint32_t offset, uint32_t bytes) {
  flash_control_lock();
  SCB_InvalidateDCache_by_Addr((void *)(FLASH_BASE + offset), (int32_t)bytes);
}

bool flash_memory_erase(uint32_t offset, const flash_sizes_t *sizes) {
  (void)sizes;
  return flash_f4_f7_erase(flash_f4_f7_sector(offset, LARGE_SHIFT), ERRORS);
}

bool flash_memory_program(uint32_t offset, const uint32_t *words) {
  return flash_f4_f7_program(offset, words, ERRORS);
}
