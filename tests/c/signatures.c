/* Reads records and writes for each its SHA-512, or whether its signature is good. A record is a kind and the bytes of
 * a part (one each), the number of bytes (four, little endian), for a signature public key and signature, and the
 * bytes, which are added in parts; 0: in one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ed25519.h"

enum { DIGEST = 'd', SIGNATURE = 's', LONGEST = 1 << 20 };

static void need(bool is_true) {
  if (!is_true) exit(1);
}

static void take(void *to, size_t size) { need(size == 0 || fread(to, size, 1, stdin) == 1); }

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

static void hash(const uint8_t *data, uint32_t bytes, uint32_t part) {
  sha512_t sha;
  uint8_t digest[SHA512_BYTES];
  memset(&sha, 0xA5, sizeof sha);
  sha512_begin(&sha);
  for (uint32_t done = 0; done < bytes; done += part) sha512_add(&sha, data + done, least(part, bytes - done));
  sha512_end(&sha, digest);
  need(fwrite(digest, sizeof digest, 1, stdout) == 1);
}

static void verify(const uint8_t *key, const uint8_t *signature, const uint8_t *data, uint32_t bytes, uint32_t part) {
  ed25519_t check;
  memset(&check, 0xA5, sizeof check);
  ed25519_begin(&check, signature, key);
  for (uint32_t done = 0; done < bytes; done += part) ed25519_add(&check, data + done, least(part, bytes - done));
  putchar(ed25519_end(&check));
}

int main(void) {
  uint8_t head[6], key[ED25519_KEY_BYTES], signature[ED25519_SIGNATURE_BYTES];
  while (fread(head, sizeof head, 1, stdin) == 1) {
    uint32_t bytes = head[2] | (uint32_t)head[3] << 8 | (uint32_t)head[4] << 16 | (uint32_t)head[5] << 24;
    uint32_t part = head[1] ? head[1] : bytes + 1u;
    need(bytes < LONGEST);
    if (head[0] == SIGNATURE) take(key, sizeof key);
    if (head[0] == SIGNATURE) take(signature, sizeof signature);
    uint8_t *data = malloc(bytes ? bytes : 1u); /* ends where the bytes end, for AddressSanitizer */
    need(data);
    take(data, bytes);
    if (head[0] == DIGEST) hash(data, bytes, part);
    if (head[0] == SIGNATURE) verify(key, signature, data, bytes, part);
    free(data);
  }
  return 0;
}
