#include "weights_file.h"

#include "crc_unit.h"
#include "network.h"
#include "watchdog.h"
#include "weights_key.h"

#define MAGIC 0x46575354u /* "TSWF" */
#define VERSION 1u
#define PART_WORDS 2048u

static uint32_t crc_index(void) { return weights_file_bytes / (uint32_t)sizeof(uint32_t) - 1u; }

/* The compiler must not take what it knows of the file for what is in flash. */
static uint32_t word(const uint32_t *file, uint32_t index) { return *(const volatile uint32_t *)&file[index]; }

static bool has_right_crc(const uint32_t *file) {
  uint32_t count = crc_index();
  uint32_t crc = 0;
  crc_unit_begin();
  for (uint32_t done = 0; done < count; done += PART_WORDS) {
    uint32_t left = count - done;
    crc = crc_unit_add(file + done, left < PART_WORDS ? left : PART_WORDS);
    watchdog_refresh();
  }
  return crc == word(file, count);
}

uint32_t weights_header_reason(const volatile weights_header_t *header) {
  if (header->magic != MAGIC) return WEIGHTS_MISSING;
  if (header->version != VERSION) return WEIGHTS_OTHER_VERSION;
  if (header->board_index != network_board_index) return WEIGHTS_OTHER_BOARD;
  if (header->structure != network_project_hash) return WEIGHTS_OTHER_STRUCTURE;
  if (header->first_array != weights_first_array || header->layers != weights_layers) return WEIGHTS_OTHER_STRUCTURE;
  if (header->flags != weights_flags) return WEIGHTS_OTHER_STRUCTURE;
  return header->bytes == weights_file_bytes ? WEIGHTS_GOOD : WEIGHTS_WRONG_LENGTH;
}

uint32_t weights_reason(const uint32_t *file) {
  uint32_t reason = weights_header_reason((const volatile weights_header_t *)file);
  if (reason) return reason;
  return has_right_crc(file) ? WEIGHTS_GOOD : WEIGHTS_CORRUPT;
}

uint32_t weights_crc(const uint32_t *file) { return word(file, crc_index()); }

bool weights_file_check(uint32_t *reason) {
  *reason = weights_reason(weights_file);
  if (!*reason && weights_key_reason) *reason = weights_key_reason();
  return *reason == WEIGHTS_GOOD;
}

/* Without a header, words behind it may be half programmed: nobody reads them. */
void weights_file_identify(uint32_t *crc, uint32_t *counter) {
  const volatile weights_header_t *header = (const volatile weights_header_t *)weights_file;
  bool has_file = header->magic == MAGIC;
  *crc = has_file ? weights_crc(weights_file) : 0;
  *counter = has_file ? header->counter : 0;
}
