#include "flash_check.h"

#include "crc32.h"
#include "watchdog.h"

#define PART_BYTES 8192u

/* Of the linker script. The checksum follows the flash; what is weak is 0 without weights in external memory. */
extern const uint8_t _flash_start[], _flash_end[];
extern const uint8_t _external_start[] __attribute__((weak));
extern const uint8_t _external_end[] __attribute__((weak));

/* Written into the ELF file after linking (checksum.py of the project). */
__attribute__((section(".checksum"), used)) static const volatile uint32_t checksum = 0;

static uint32_t crc_of(uint32_t crc, const uint8_t *part, const uint8_t *end) {
  while (part < end) {
    uint32_t left = (uint32_t)(end - part);
    uint32_t bytes = left < PART_BYTES ? left : PART_BYTES;
    crc = crc32(crc, part, bytes);
    part += bytes;
    watchdog_refresh();
  }
  return crc;
}

bool flash_check(uint32_t *found) {
  *found = crc_of(crc_of(0, _flash_start, _flash_end), _external_start, _external_end);
  return *found == checksum;
}
