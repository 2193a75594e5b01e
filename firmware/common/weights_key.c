#include "weights_key.h"

#include <string.h>

#include "error_codes.h"
#include "frames.h"
#include "gcm.h"
#include "host_events.h"
#include "requests.h"
#include "run.h"
#include "watchdog.h"
#include "weights_file.h"

/* Nothing in this file runs for each byte: its size counts. */
#pragma GCC optimize("Os")

enum {
  LONGEST_KEY_BYTES = 32,
  SECURITY_BYTES = 32, /* before the arrays: nonce, tag */
  PART_BYTES = 4096    /* between two refreshes of the watchdog */
};

static uint8_t key[LONGEST_KEY_BYTES];
static uint32_t key_bytes;
static uint8_t key_sequence;
static volatile bool is_wanted;
static bool is_decrypted;
static gcm_t gcm;

bool weights_key_check(uint32_t *reason) {
  *reason = is_decrypted ? WEIGHTS_GOOD : WEIGHTS_NO_KEY;
  return is_decrypted;
}

/* From the host's interrupt */

static uint8_t place(const uint8_t *head, uint32_t bytes, uint8_t **to) {
  (void)head;
  if (bytes != 16u && bytes != LONGEST_KEY_BYTES) return ERROR_BAD_LENGTH;
  *to = key;
  return is_wanted ? ERROR_BUSY : ERROR_NONE;
}

static void take(const frame_header_t *header, const uint8_t *head) {
  (void)head;
  key_sequence = header->sequence;
  key_bytes = header->length - (uint32_t)FRAME_HEAD_BYTES;
  is_wanted = true;
  run_look_again();
}

/* The compiler may not leave out what nobody reads. */
static void wipe_key(void) {
  for (volatile uint8_t *byte = key; byte < key + LONGEST_KEY_BYTES; byte++) *byte = 0;
}

static bool keeps_all(void) { return weights_plain_bytes == weights_arrays_bytes(); }

/* Decrypts the arrays that are kept in RAM, and authenticates the others. */
static void take_arrays(const uint8_t *arrays) {
  uint32_t bytes = weights_arrays_bytes(), part;
  for (uint32_t done = 0; done < bytes; done += part) {
    bool is_kept = done < weights_plain_bytes;
    uint32_t left = (is_kept ? weights_plain_bytes : bytes) - done;
    part = left < PART_BYTES ? left : PART_BYTES;
    if (is_kept) {
      gcm_decrypt(&gcm, arrays + done, (uint8_t *)weights_plain + done, part);
    } else {
      gcm_pass(&gcm, arrays + done, part);
    }
    watchdog_refresh();
  }
}

/* gcm_end wipes the stack of what this function calls. */
static bool decrypt(void) {
  const uint8_t *file = (const uint8_t *)weights_file;
  uint32_t first = weights_first_array; /* not that of the file, whose CRC anybody can make right */
  const uint8_t *security = file + first - SECURITY_BYTES;
  if (!gcm_begin(&gcm, key, key_bytes, security)) return false;
  gcm_add(&gcm, file, first - SECURITY_BYTES);
  take_arrays(file + first);
  const uint8_t *tag = security + GCM_NONCE_BYTES;
  bool is_good = keeps_all() ? gcm_end(&gcm, tag) : gcm_end_with_key(&gcm, tag);
  if (!is_good) memset(weights_plain, 0, weights_plain_bytes);
  return is_good;
}

static void drop(void) {
  if (!is_wanted) wipe_key();
}

static const request_data_t key_data = {place, drop};
REQUESTS table[] = {{FRAME_KEY, 0, FRAME_HEAD_BYTES, 0, take, &key_data}};

static uint8_t execute(uint32_t *detail) {
  if (run_state != RUN_STOPPED) return ERROR_BUSY;
  *detail = weights_reason(weights_file);
  if (*detail) return ERROR_WEIGHTS;
  is_decrypted = decrypt();
  *detail = WEIGHTS_WRONG_KEY;
  return is_decrypted ? ERROR_NONE : ERROR_WEIGHTS;
}

void weights_key_forget(void) {
  is_decrypted = false;
  memset(weights_plain, 0, weights_plain_bytes);
  gcm_wipe(&gcm);
}

void weights_key_decrypt(void *to, const void *from, uint32_t bytes) {
  const uint32_t *source = from;
  uint32_t *target = to;
  uint32_t first = (uint32_t)(source - weights_file) - weights_first_array / (uint32_t)sizeof(uint32_t);
  uint32_t words = (bytes + (uint32_t)sizeof(uint32_t) - 1u) / (uint32_t)sizeof(uint32_t), part;
  for (uint32_t done = 0; done < words; done += part) {
    uint32_t left = words - done;
    part = left < PART_BYTES / sizeof(uint32_t) ? left : (uint32_t)(PART_BYTES / sizeof(uint32_t));
    gcm_decrypt_words(&gcm, first + done, source + done, target + done, part);
    watchdog_refresh();
  }
}

static bool obey(void) {
  if (!is_wanted) return true;
  uint32_t detail = FRAME_KEY;
  uint8_t code = execute(&detail);
  wipe_key();
  is_wanted = false;
  host_tell_obeyed(FRAME_KEY, key_sequence, code, detail);
  return true;
}

RUN_TASK task = obey;
