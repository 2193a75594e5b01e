#include "weights_file.h"

#include "crc_unit.h"
#include "network.h"
#include "watchdog.h"

#define MAGIC 0x46575354u /* "TSWF" */
#define VERSION 1u
#define PART_WORDS 2048u

/* The compiler must not take what it knows of the file for what is in flash. */
static const volatile weights_header_t *const header = (const volatile weights_header_t *)weights_file;

static uint32_t crc_word(void) { return weights_file_bytes / (uint32_t)sizeof(uint32_t) - 1u; }

static uint32_t word(uint32_t index) { return *(const volatile uint32_t *)&weights_file[index]; }

static bool has_right_crc(void) {
  uint32_t count = crc_word();
  uint32_t crc = 0;
  crc_unit_begin();
  for (uint32_t done = 0; done < count; done += PART_WORDS) {
    uint32_t left = count - done;
    crc = crc_unit_add(weights_file + done, left < PART_WORDS ? left : PART_WORDS);
    watchdog_refresh();
  }
  return crc == word(count);
}

static uint32_t reason_against(void) {
  if (header->magic != MAGIC) return WEIGHTS_MISSING;
  if (header->version != VERSION) return WEIGHTS_OTHER_VERSION;
  if (header->board_index != network_board_index) return WEIGHTS_OTHER_BOARD;
  if (header->structure != network_project_hash) return WEIGHTS_OTHER_STRUCTURE;
  if (header->bytes != weights_file_bytes) return WEIGHTS_WRONG_LENGTH;
  return has_right_crc() ? WEIGHTS_GOOD : WEIGHTS_CORRUPT;
}

bool weights_file_check(uint32_t *reason) {
  *reason = reason_against();
  return *reason == WEIGHTS_GOOD;
}

void weights_file_identify(uint32_t *crc, uint32_t *counter) {
  *crc = word(crc_word());
  *counter = header->counter;
}
