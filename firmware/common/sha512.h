/* SHA-512 (FIPS 180-4) of a stream of bytes. */
#ifndef SHA512_H
#define SHA512_H

#include <stdint.h>

enum { SHA512_BYTES = 64, SHA512_BLOCK_WORDS = 16, SHA512_STATE_WORDS = 8 };

typedef struct {
  uint64_t state[SHA512_STATE_WORDS];
  uint64_t block[SHA512_BLOCK_WORDS]; /* bytes that wait for others */
  uint32_t bytes;                     /* of the whole stream */
} sha512_t;

void sha512_begin(sha512_t *sha);

/* Adds bytes at any address; less than 512 MB in all. */
void sha512_add(sha512_t *sha, const uint8_t *data, uint32_t bytes);

void sha512_end(sha512_t *sha, uint8_t digest[SHA512_BYTES]);

#endif
