/* Erases and programs flash, in sectors that neither code nor constants in use lie in. Where code lies in the same
 * bank, the core stands still meanwhile.
 */
#ifndef FLASH_MEMORY_H
#define FLASH_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* What is programmed at a time: a multiple of the words with an error correction of their own, of all families. */
enum { FLASH_UNIT_BYTES = 32, FLASH_UNIT_WORDS = FLASH_UNIT_BYTES / 4 };

/* Unlocks the flash. */
void flash_memory_open(void);

/* Locks it again; caches forget what they have read of these bytes, from the start of the flash. */
void flash_memory_close(uint32_t offset, uint32_t bytes);

/* Sizes in bytes; a flash with one bank has all its sectors in it. */
typedef struct {
  uint32_t sector_bytes;
  uint32_t bank_bytes;
} flash_sizes_t;

/* Erases the sector that begins `offset` bytes behind the start of the flash. */
bool flash_memory_erase(uint32_t offset, const flash_sizes_t *sizes);

/* Programs FLASH_UNIT_BYTES erased bytes. */
bool flash_memory_program(uint32_t offset, const uint32_t *words);

#endif
