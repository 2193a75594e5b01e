#include "weights_file.h"

#include "crc_unit.h"
#include "flash_errors.h"
#include "network.h"
#include "watchdog.h"

/* Nothing in this file runs for each byte: its size counts. */
#pragma GCC optimize("Os")

#define MAGIC 0x46575354u /* "TSWF" */
#define VERSION 1u
#define COUNTER_FACTOR 0x9E3779B1u /* any odd number: changes many bits */
#define PART_WORDS 512u /* between two refreshes of the watchdog */

static uint32_t linked_network; /* that neighbours are told */
static bool has_links;

static uint32_t crc_index(void) { return weights_file_bytes / (uint32_t)sizeof(uint32_t) - 1u; }

/* Copies words of a file, which may have been written halfway. The compiler must not take what it knows of the file for
 * what is in flash. */
bool weights_read(uint32_t *to, const volatile uint32_t *from, uint32_t count) {
  flash_errors_t before = flash_errors_begin((const uint32_t *)from, count * (uint32_t)sizeof *to);
  for (uint32_t i = 0; i < count; i++) to[i] = from[i];
  return !flash_errors_end(before);
}

bool weights_add_crc(const uint32_t *words, uint32_t count, uint32_t *crc) {
  bool is_readable = true;
  for (uint32_t done = 0; done < count; done += PART_WORDS) {
    uint32_t left = count - done;
    uint32_t part = left < PART_WORDS ? left : PART_WORDS;
    flash_errors_t before = flash_errors_begin(words + done, part * (uint32_t)sizeof *words);
    *crc = crc_unit_add(words + done, part);
    if (flash_errors_end(before)) is_readable = false;
    watchdog_refresh();
  }
  return is_readable;
}

static bool has_right_crc(const uint32_t *file) {
  uint32_t crc = 0, right;
  crc_unit_begin();
  return weights_add_crc(file, crc_index(), &crc) && weights_read(&right, file + crc_index(), 1) && crc == right;
}

bool weights_header(const uint32_t *file, weights_header_t *header) {
  return weights_read((uint32_t *)header, file, sizeof *header / sizeof(uint32_t));
}

uint32_t weights_header_reason(const weights_header_t *header) {
  if (header->magic != MAGIC) return WEIGHTS_MISSING;
  if (header->version != VERSION) return WEIGHTS_OTHER_VERSION;
  if (header->board_index != network_board_index) return WEIGHTS_OTHER_BOARD;
  if (header->structure != network_project_hash) return WEIGHTS_OTHER_STRUCTURE;
  if (header->first_array != weights_first_array || header->layers != weights_layers) return WEIGHTS_OTHER_STRUCTURE;
  if (header->flags != weights_flags) return WEIGHTS_OTHER_STRUCTURE;
  return header->bytes == weights_file_bytes ? WEIGHTS_GOOD : WEIGHTS_WRONG_LENGTH;
}

uint32_t weights_reason(const uint32_t *file) {
  weights_header_t header;
  if (!weights_header(file, &header)) return WEIGHTS_CORRUPT;
  uint32_t reason = weights_header_reason(&header);
  if (reason) return reason;
  return has_right_crc(file) ? WEIGHTS_GOOD : WEIGHTS_CORRUPT;
}

uint32_t weights_crc(const uint32_t *file) {
  uint32_t crc;
  return weights_read(&crc, file + crc_index(), 1) ? crc : 0;
}

/* A file that was written halfway has no header. */
static bool has_file(weights_header_t *header) {
  return weights_header(weights_file, header) && header->magic == MAGIC;
}

static uint32_t network_in_flash(void) {
  weights_header_t header;
  return has_file(&header) ? header.model ^ header.counter * COUNTER_FACTOR : 0;
}

uint32_t weights_file_network(void) {
  linked_network = network_in_flash();
  has_links = true;
  return linked_network;
}

bool weights_file_check(uint32_t *reason) {
  *reason = weights_reason(weights_file);
  if (!*reason && has_links && network_in_flash() != linked_network) *reason = WEIGHTS_REPLACED;
  return *reason == WEIGHTS_GOOD;
}

void weights_file_identify(uint32_t *crc, uint32_t *counter) {
  weights_header_t header;
  bool is_there = has_file(&header);
  *crc = is_there ? weights_crc(weights_file) : 0;
  *counter = is_there ? header.counter : 0;
}
