/* Reads files of FILE_BYTES bytes, and writes a byte for each: why the firmware refuses it. */
#include <stdio.h>

#include "crc32.h"
#include "crc_unit.h"
#include "flash_errors.h"
#include "network.h"
#include "weights_file.h"

/* The file in flash: it changes, unlike what weights_file.h declares. */
extern uint32_t flash[FILE_BYTES / sizeof(uint32_t)] __asm__("weights_file");
uint32_t flash[FILE_BYTES / sizeof(uint32_t)];
const uint32_t weights_file_bytes = FILE_BYTES;
const uint32_t weights_first_array = FIRST_ARRAY;
const uint16_t weights_layers = LAYERS;
const uint16_t weights_flags = 0;

const uint32_t network_project_hash = STRUCTURE;
const uint8_t network_board_index = BOARD_INDEX;

static uint32_t crc;

void crc_unit_begin(void) { crc = 0; }

uint32_t crc_unit_add(const uint32_t *words, uint32_t count) {
  crc = crc32(crc, (const uint8_t *)words, count * (uint32_t)sizeof *words);
  return crc;
}

/* All words can be read. */
flash_errors_t flash_errors_begin(const void *start, uint32_t bytes) {
  (void)start;
  return (flash_errors_t){.bytes = bytes};
}

bool flash_errors_end(flash_errors_t before) { return before.has_failed; }

int main(void) {
  while (fread(flash, 1, sizeof flash, stdin) == sizeof flash) {
    uint32_t reason;
    bool is_good = weights_file_check(&reason);
    if (is_good != (reason == WEIGHTS_GOOD)) return 1;
    putchar((int)reason);
  }
  return 0;
}
