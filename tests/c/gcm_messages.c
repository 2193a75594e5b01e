/* Reads messages and decrypts them, in the calls that each message asks for. A message is the key's length and the number
 * of calls (bytes), the key (32 bytes), nonce and tag, and its calls: kind (byte), offset from an aligned address (byte),
 * length (two bytes, little endian), and the bytes. Writes for each message whether it is good, and what it decrypts to.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gcm.h"

enum { ADD = 'a', DECRYPT = 'd', DECRYPT_IN_PLACE = 'i', ENCRYPT_BLOCK = 'e' };

static uint8_t key[32], nonce[GCM_NONCE_BYTES], tag[GCM_TAG_BYTES];

static void need(bool is_true) {
  if (!is_true) exit(1);
}

static void take(void *to, size_t size) { need(size == 0 || fread(to, size, 1, stdin) == 1); }

static void encrypt(uint32_t key_bytes, const uint8_t *in, uint8_t *out) {
  aes_t aes;
  uint32_t block[AES_BLOCK_WORDS];
  memcpy(block, in, sizeof block);
  need(aes_begin(&aes, key, key_bytes));
  aes_encrypt(&aes, block);
  memcpy(out, block, sizeof block);
}

/* The buffers end where the data end, for AddressSanitizer. */
static void call(gcm_t *gcm, uint32_t key_bytes) {
  uint8_t head[4];
  take(head, sizeof head);
  uint32_t offset = head[1], bytes = head[2] | (uint32_t)head[3] << 8;
  uint8_t *in_buffer = malloc(offset + bytes), *out_buffer = calloc(offset + bytes, 1);
  need(in_buffer && out_buffer);
  uint8_t *in = in_buffer + offset, *out = head[0] == DECRYPT_IN_PLACE ? in : out_buffer + offset;
  take(in, bytes);
  if (head[0] == ADD) gcm_add(gcm, in, bytes);
  if (head[0] == ENCRYPT_BLOCK) encrypt(key_bytes, in, out);
  if (head[0] == DECRYPT || head[0] == DECRYPT_IN_PLACE) gcm_decrypt(gcm, in, out, bytes);
  if (head[0] != ADD && bytes) need(fwrite(out, bytes, 1, stdout) == 1);
  free(in_buffer);
  free(out_buffer);
}

int main(void) {
  uint8_t head[2];
  static const gcm_t wiped;
  while (fread(head, sizeof head, 1, stdin) == 1) {
    gcm_t gcm;
    memset(&gcm, 0xA5, sizeof gcm);
    take(key, sizeof key);
    take(nonce, sizeof nonce);
    take(tag, sizeof tag);
    bool has_begun = gcm_begin(&gcm, key, head[0], nonce);
    for (uint32_t calls = head[1]; calls; calls--) call(&gcm, head[0]);
    bool is_good = gcm_end(&gcm, tag);
    need(has_begun || !is_good);
    need(memcmp(&gcm, &wiped, sizeof gcm) == 0);
    need(!gcm_end(&gcm, tag));
    putchar(is_good);
  }
  return 0;
}
