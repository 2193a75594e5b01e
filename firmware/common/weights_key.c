#include "weights_key.h"

#include <string.h>

#include "error_codes.h"
#include "frames.h"
#include "gcm.h"
#include "run.h"
#include "watchdog.h"
#include "weights_file.h"

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

uint32_t weights_key_reason(void) { return is_decrypted ? WEIGHTS_GOOD : WEIGHTS_NO_KEY; }

uint8_t *weights_key_place(uint32_t bytes) {
  return is_wanted || !weights_key_has_length(bytes) ? NULL : key;
}

void weights_key_request(uint8_t sequence, uint32_t bytes) {
  key_sequence = sequence;
  key_bytes = bytes;
  is_wanted = true;
  run_look_again();
}

/* The compiler may not leave out what nobody reads. */
static void wipe_key(void) {
  for (volatile uint8_t *byte = key; byte < key + LONGEST_KEY_BYTES; byte++) *byte = 0;
}

static bool decrypt(void) {
  const uint8_t *file = (const uint8_t *)weights_file;
  uint32_t first = weights_first_array; /* not that of the file, whose CRC anybody can make right */
  uint32_t bytes = weights_arrays_bytes();
  const uint8_t *security = file + first - SECURITY_BYTES;
  if (!gcm_begin(&gcm, key, key_bytes, security)) return false;
  gcm_add(&gcm, file, first - SECURITY_BYTES);
  for (uint32_t done = 0; done < bytes; done += PART_BYTES) {
    uint32_t left = bytes - done;
    gcm_decrypt(&gcm, file + first + done, (uint8_t *)weights_plain + done, left < PART_BYTES ? left : PART_BYTES);
    watchdog_refresh();
  }
  bool is_good = gcm_end(&gcm, security + GCM_NONCE_BYTES);
  if (!is_good) memset(weights_plain, 0, bytes);
  return is_good;
}

static uint8_t execute(uint32_t *detail) {
  if (run_state != RUN_STOPPED) return ERROR_BUSY;
  *detail = weights_reason(weights_file);
  if (*detail) return ERROR_WEIGHTS;
  is_decrypted = decrypt();
  *detail = WEIGHTS_WRONG_KEY;
  return is_decrypted ? ERROR_NONE : ERROR_WEIGHTS;
}

void weights_key_drop(void) {
  if (!is_wanted) wipe_key();
}

void weights_key_forget(void) {
  is_decrypted = false;
  memset(weights_plain, 0, weights_arrays_bytes());
}

void weights_key_obey(void) {
  if (!is_wanted) return;
  uint32_t detail = FRAME_KEY;
  uint8_t code = execute(&detail);
  wipe_key();
  is_wanted = false;
  weights_key_on_done(key_sequence, code, detail);
}
