#include "weights_update.h"

#include <string.h>

#include "crc_unit.h"
#include "error_codes.h"
#include "flash_memory.h"
#include "host_events.h"
#include "host_send.h"
#include "mpu.h"
#include "network.h"
#include "requests.h"
#include "run.h"
#include "watchdog.h"
#include "weights_file.h"
#include "weights_key.h"
#include "weights_signature.h"

/* Nothing in this file runs for each byte: its size counts. */
#pragma GCC optimize("Os")

enum { PART_BYTES = 512 }; /* of a WRITE_WEIGHTS, at most */
enum { LONGEST_ERASE_MS = 30000 }; /* of a sector, several times: the core may stand still meanwhile */

typedef struct {
  uint8_t type;
  uint8_t sequence;
  uint32_t value; /* BEGIN_WEIGHTS: 1 if an older file may replace a newer one; WRITE_WEIGHTS: the offset of the data */
  uint32_t bytes;
} update_t;

static uint32_t data[PART_BYTES / 4];
static volatile bool is_wanted;
static update_t request;

/* The file that is being written: its header, the bytes that have come, and the first unit, which is held back: a slot
 * without it has no file, and nobody reads on there, where words may be half programmed. */
static weights_header_t header;
static bool is_open;
static bool has_extended_watchdog;
static uint32_t written;
static uint32_t first_unit[FLASH_UNIT_WORDS];

/* Of the linker script. */
extern const uint8_t _flash_start[];

static const uint32_t *target(void) { return weights_staging ? weights_staging : weights_file; }

static uint32_t offset_of(const uint32_t *file) { return (uint32_t)((uintptr_t)file - (uintptr_t)_flash_start); }

static uint32_t padded_bytes(void) { return (weights_file_bytes + FLASH_UNIT_BYTES - 1u) & ~(FLASH_UNIT_BYTES - 1u); }

static void open_flash(void) {
  mpu_open_flash();
  flash_memory_open();
}

static void close_flash(uint32_t offset, uint32_t bytes) {
  flash_memory_close(offset, bytes);
  mpu_close_flash();
}

/* Programs units of a slot, from `offset` in it, but the first one; erases each sector when it comes to its begin. */
static bool program(const uint32_t *slot, uint32_t offset, const uint32_t *words, uint32_t bytes) {
  bool is_good = true;
  for (uint32_t done = 0; done < bytes && is_good; done += FLASH_UNIT_BYTES) {
    uint32_t place = offset_of(slot) + offset + done;
    if ((offset + done) % weights_sizes.sector_bytes == 0) is_good = flash_memory_erase(place, &weights_sizes);
    if (offset + done > 0) is_good = is_good && flash_memory_program(place, words + done / 4u);
    watchdog_refresh();
  }
  return is_good;
}

/* From flash to flash: a unit at a time, as it may not be read while it is programmed. */
static bool copy(const uint32_t *to, const uint32_t *from) {
  uint32_t unit[FLASH_UNIT_WORDS];
  for (uint32_t offset = 0; offset < padded_bytes(); offset += FLASH_UNIT_BYTES) {
    if (!weights_read(unit, from + offset / 4u, FLASH_UNIT_WORDS)) return false;
    if (!program(to, offset, unit, sizeof unit)) return false;
  }
  return weights_read(unit, from, FLASH_UNIT_WORDS) && flash_memory_program(offset_of(to), unit);
}

/* A good file in the staging slot has not been copied to the end. It is not compared with the other one: bits that were
 * programmed halfway may read well today. The staging slot must not have it any more when it was copied, or it would
 * come back after a debugger has flashed another one. */
void weights_update_finish(void) {
  if (!weights_staging || weights_reason(weights_staging) != WEIGHTS_GOOD) return;
  open_flash();
  copy(weights_file, weights_staging);
  close_flash(offset_of(weights_file), weights_slot_bytes);
  if (weights_reason(weights_file) == WEIGHTS_GOOD) {
    open_flash();
    flash_memory_erase(offset_of(weights_staging), &weights_sizes);
    close_flash(offset_of(weights_staging), weights_sizes.sector_bytes);
  }
}

/* From the host's interrupt */

static uint8_t place(const uint8_t *head, uint32_t bytes, uint8_t **to) {
  (void)head;
  if (bytes > sizeof data) return ERROR_BAD_LENGTH;
  *to = (uint8_t *)data;
  return is_wanted ? ERROR_BUSY : ERROR_NONE;
}

static void take(const frame_header_t *header, const uint8_t *head) {
  if (is_wanted) {
    host_send_refusal(header, ERROR_BUSY);
    return;
  }
  bool has_data = header->type != FRAME_COMMIT_WEIGHTS;
  request = (update_t){.type = header->type,
                       .sequence = header->sequence,
                       .value = has_data ? frame_u32(head) : 0,
                       .bytes = has_data ? header->length - (uint32_t)FRAME_HEAD_BYTES : 0};
  is_wanted = true;
  run_look_again();
}

static void identify_staging(const frame_header_t *header, const uint8_t *head) {
  (void)head;
  host_frame_t outgoing = host_two_words(FRAME_IDENTIFY | FRAME_REPLY, header->sequence,
                                         weights_staging ? weights_slot_bytes : 0, PART_BYTES);
  host_send(&outgoing);
}

static const request_data_t update_data = {place, NULL};
REQUESTS table[] = {{FRAME_BEGIN_WEIGHTS, 0, FRAME_HEAD_BYTES, 0, take, &update_data},
                    {FRAME_WRITE_WEIGHTS, 0, FRAME_HEAD_BYTES, 0, take, &update_data},
                    {FRAME_COMMIT_WEIGHTS, 0, 0, 0, take, NULL},
                    {FRAME_IDENTIFY, IDENTIFY_STAGING, 0, 1, identify_staging, NULL}};

/* Executing them */

static uint8_t begin(uint32_t *detail) {
  bool is_signed = weights_flags & WEIGHTS_ARE_SIGNED;
  bool may_be_older = request.value != 0 && !is_signed; /* who reaches the port need not be the owner */
  is_open = false;
  if (request.bytes != sizeof header) return ERROR_BAD_LENGTH;
  memcpy(&header, data, sizeof header);
  *detail = weights_header_reason(&header);
  weights_header_t old;
  bool has_file = weights_header(weights_file, &old) && weights_header_reason(&old) == WEIGHTS_GOOD;
  if (!*detail && is_signed && !weights_staging) *detail = WEIGHTS_NO_STAGING; /* the old file would be gone before */
  if (!*detail && !may_be_older && has_file && header.counter < old.counter) *detail = WEIGHTS_OLDER;
  if (*detail) return ERROR_WEIGHTS;
  if (network_watchdog_ms) watchdog_begin(LONGEST_ERASE_MS);
  has_extended_watchdog = true;
  if (target() == weights_file) weights_key_forget();
  is_open = true;
  written = 0;
  return ERROR_NONE;
}

static uint8_t write(void) {
  uint32_t end = request.value + request.bytes;
  if (!is_open || request.bytes % FLASH_UNIT_BYTES || request.value > written || end > padded_bytes()) {
    return ERROR_BAD_RANGE;
  }
  if (end <= written) return ERROR_NONE; /* again: the reply was lost */
  if (request.value != written) return ERROR_BAD_RANGE;
  if (written == 0) memcpy(first_unit, data, sizeof first_unit);
  open_flash();
  bool is_good = program(target(), written, data, request.bytes);
  close_flash(offset_of(target()) + written, request.bytes);
  is_open = is_good;
  written = end;
  return is_good ? ERROR_NONE : ERROR_FLASH_WRITE;
}

/* The first unit and those in flash. */
static bool is_whole(void) {
  uint32_t words = weights_file_bytes / 4u - 1u; /* before the CRC */
  crc_unit_begin();
  uint32_t crc = crc_unit_add(first_unit, FLASH_UNIT_WORDS);
  bool is_readable = weights_add_crc(target() + FLASH_UNIT_WORDS, words - FLASH_UNIT_WORDS, &crc);
  return is_readable && crc == weights_crc(target());
}

static bool is_header(const void *found) { return memcmp(found, &header, sizeof header) == 0; }

/* COMMIT_WEIGHTS has come before: the reply was lost. */
static bool is_committed(void) {
  weights_header_t found;
  bool has_header = !is_open && weights_header(target(), &found) && is_header(&found);
  return has_header && weights_reason(target()) == WEIGHTS_GOOD;
}

static uint8_t commit(uint32_t *detail) {
  if (is_committed()) return ERROR_NONE;
  if (!is_open || written != padded_bytes()) return ERROR_BAD_RANGE;
  *detail = WEIGHTS_CORRUPT;
  if (!is_header(first_unit) || !is_whole()) return ERROR_WEIGHTS;
  *detail = WEIGHTS_NOT_SIGNED;
  if (!weights_signature_is_good(target(), first_unit)) return ERROR_WEIGHTS;
  is_open = false;
  open_flash();
  bool is_good = flash_memory_program(offset_of(target()), first_unit);
  close_flash(offset_of(target()), FLASH_UNIT_BYTES);
  return is_good ? ERROR_NONE : ERROR_FLASH_WRITE;
}

static uint8_t execute(uint32_t *detail) {
  if (run_state != RUN_STOPPED) return ERROR_BUSY;
  switch (request.type) {
    case FRAME_BEGIN_WEIGHTS: return begin(detail);
    case FRAME_WRITE_WEIGHTS: return write();
    default: return commit(detail);
  }
}

/* A run has begun: a file that is not committed is given up, and the watchdog has its own time-out again. */
static void leave(void) {
  is_open = false;
  has_extended_watchdog = false;
  watchdog_begin(network_watchdog_ms);
}

static bool obey(void) {
  if (has_extended_watchdog && run_state != RUN_STOPPED) leave();
  if (!is_wanted) return true;
  uint32_t detail = request.type;
  uint8_t code = execute(&detail);
  uint8_t type = request.type, sequence = request.sequence;
  is_wanted = false;
  host_tell_obeyed(type, sequence, code, detail);
  return true;
}

RUN_TASK task = obey;
