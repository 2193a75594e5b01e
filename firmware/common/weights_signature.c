#include "weights_signature.h"

#include "ed25519.h"
#include "flash_memory.h"
#include "watchdog.h"
#include "weights_file.h"

enum { PART_BYTES = 4096 }; /* between two refreshes of the watchdog */

static ed25519_t check;

bool weights_signature_is_good(const uint32_t *file, const uint32_t *first_unit) {
  const uint8_t *bytes = (const uint8_t *)file;
  uint32_t signed_bytes = weights_file_bytes - WEIGHTS_SIGNATURE_BYTES - (uint32_t)sizeof(uint32_t);
  ed25519_begin(&check, bytes + signed_bytes, weights_public_key);
  ed25519_add(&check, (const uint8_t *)first_unit, FLASH_UNIT_BYTES);
  for (uint32_t done = FLASH_UNIT_BYTES; done < signed_bytes; done += PART_BYTES) {
    uint32_t left = signed_bytes - done;
    ed25519_add(&check, bytes + done, left < PART_BYTES ? left : PART_BYTES);
    watchdog_refresh();
  }
  bool is_good = ed25519_end(&check);
  watchdog_refresh();
  return is_good;
}
