/* The check of the configuration file of a board (weights_file.c): its header and words, with right and wrong CRCs.
 *
 * An input is the file but for its CRC, and a byte: whether the CRC is right, whether words cannot be corrected, and the
 * first of them.
 */
#include <stdlib.h>
#include <string.h>

#include "crc32.h"
#include "crc_unit.h"
#include "driver.h"
#include "flash_errors.h"
#include "network.h"
#include "weights_file.h"

enum { FILE_WORDS = 16, FILE_BYTES = FILE_WORDS * 4 };

extern uint32_t flash[FILE_WORDS] __asm__("weights_file");
uint32_t flash[FILE_WORDS];
const uint32_t weights_file_bytes = FILE_BYTES;
const uint32_t weights_first_array = 32;
const uint16_t weights_layers = 0;
const uint16_t weights_flags = 0;
const uint32_t network_project_hash = 0x12345678;
const uint8_t network_board_index = 1;
static uint32_t crc;

void crc_unit_begin(void) { crc = 0; }

uint32_t crc_unit_add(const uint32_t *words, uint32_t count) {
  crc = crc32(crc, (const uint8_t *)words, count * (uint32_t)sizeof *words);
  return crc;
}

static const uint32_t *torn; /* NULL: none */
flash_errors_t flash_errors_begin(const void *start, uint32_t bytes) {
  const uint32_t *first = start;
  return (flash_errors_t){.has_failed = torn >= first && torn < first + bytes / sizeof *first};
}

bool flash_errors_end(flash_errors_t before) { return before.has_failed; }

int main(int argc, char **argv) {
  fuzz_begin(argc, argv);
  size_t size;
  for (const uint8_t *input; (input = fuzz_next(&size));) {
    memset(flash, 0, sizeof flash);
    memcpy(flash, input, size < FILE_BYTES - 4 ? size : FILE_BYTES - 4);
    uint32_t right = crc32(0, (const uint8_t *)flash, FILE_BYTES - 4);
    flash[FILE_WORDS - 1] = size && input[size - 1] & 1 ? right : right + 1 + input[0];
    torn = size && input[size - 1] & 2 ? flash + input[size - 1] / 4u % FILE_WORDS : NULL;
    bool is_header_torn = torn && torn < flash + sizeof(weights_header_t) / sizeof *flash;
    uint32_t reason, found_crc, counter;
    bool is_good = weights_file_check(&reason);
    weights_file_identify(&found_crc, &counter);
    if (is_good != (reason == WEIGHTS_GOOD) || reason > WEIGHTS_CORRUPT) abort();
    bool is_readable = flash[0] == 0x46575354u && !is_header_torn && torn != flash + FILE_WORDS - 1;
    if (found_crc != (is_readable ? flash[FILE_WORDS - 1] : 0)) abort();
    if (is_header_torn && reason != WEIGHTS_CORRUPT) abort();
    if (is_good && (torn || found_crc != right || flash[0] != 0x46575354u || flash[2] != FILE_BYTES)) abort();
  }
  return 0;
}
