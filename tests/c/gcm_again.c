/* Reads messages, authenticates them, and decrypts ranges of their words again. A message is the length of its key and the
 * blocks of its text that are decrypted at once (bytes), the number of its words (two bytes, little endian), the key (32
 * bytes), nonce, tag and text. Writes for each message whether it is good, and then the words from each word on, at most
 * six of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gcm.h"

enum { MOST_WORDS = 6 };

static uint8_t key[32], nonce[GCM_NONCE_BYTES], tag[GCM_TAG_BYTES];
static const gcm_t wiped;

static void need(bool is_true) {
  if (!is_true) exit(1);
}

static void take(void *to, size_t size) { need(size == 0 || fread(to, size, 1, stdin) == 1); }

static void *allocated(size_t size) {
  void *memory = malloc(size);
  need(memory != NULL);
  return memory;
}

/* The buffer ends where the words end, for AddressSanitizer. */
static void decrypt_again(const gcm_t *gcm, const uint32_t *text, uint32_t first, uint32_t words) {
  uint32_t *out = allocated(words * sizeof *out);
  gcm_decrypt_words(gcm, first, text + first, out, words);
  need(fwrite(out, sizeof *out, words, stdout) == words);
  free(out);
}

int main(void) {
  uint8_t head[4];
  while (fread(head, sizeof head, 1, stdin) == 1) {
    uint32_t once = head[1] * GCM_BLOCK_BYTES, words = head[2] | (uint32_t)head[3] << 8;
    uint32_t bytes = words * (uint32_t)sizeof(uint32_t);
    uint32_t *text = allocated(bytes);
    uint8_t *plain = allocated(bytes);
    take(key, sizeof key);
    take(nonce, sizeof nonce);
    take(tag, sizeof tag);
    take(text, bytes);
    gcm_t gcm;
    need(gcm_begin(&gcm, key, head[0], nonce));
    gcm_decrypt(&gcm, (uint8_t *)text, plain, once);
    gcm_pass(&gcm, (uint8_t *)text + once, bytes - once);
    bool is_good = gcm_end_with_key(&gcm, tag);
    putchar(is_good);
    if (!is_good) need(memcmp(&gcm, &wiped, sizeof gcm) == 0);
    for (uint32_t first = 0; is_good && first < words; first++) {
      decrypt_again(&gcm, text, first, words - first < MOST_WORDS ? words - first : MOST_WORDS);
    }
    gcm_wipe(&gcm);
    need(memcmp(&gcm, &wiped, sizeof gcm) == 0);
    free(text);
    free(plain);
  }
  return 0;
}
