#include "flash_check.h"

#include "crc32.h"
#include "watchdog.h"

#define PART_BYTES 8192u

extern const uint8_t _flash_start[], _flash_end[]; /* of the linker script; the checksum follows */

/* Written into the ELF file after linking (checksum.py of the project). */
__attribute__((section(".checksum"), used)) static const volatile uint32_t checksum = 0;

bool flash_check(uint32_t *found) {
  uint32_t crc = 0;
  uint32_t left = (uint32_t)(_flash_end - _flash_start);
  for (const uint8_t *part = _flash_start; left;) {
    uint32_t bytes = left < PART_BYTES ? left : PART_BYTES;
    crc = crc32(crc, part, bytes);
    part += bytes;
    left -= bytes;
    watchdog_refresh();
  }
  *found = crc;
  return crc == checksum;
}
