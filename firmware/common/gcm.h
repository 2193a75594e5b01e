/* AES-GCM (NIST SP 800-38D) with nonces of 12 bytes and tags of 16: decrypts a stream and authenticates it.
 *
 * No branch, address or operand of variable time depends on key, text or tag, but the places of reads in two tables in
 * gcm_t, of 256 bytes each. They take the same time in RAM without a cache: on Cortex-M0+ and Cortex-M4 anywhere, on
 * Cortex-M7 in DTCM only (its data cache is on, see firmware/stm32h7/clock_family.c). Nothing here protects against who
 * measures power or emissions, or disturbs the core.
 */
#ifndef GCM_H
#define GCM_H

#include <stdbool.h>
#include <stdint.h>

#include "aes.h"

enum { GCM_BLOCK_BYTES = AES_BLOCK_BYTES, GCM_NONCE_BYTES = 12, GCM_TAG_BYTES = 16 };

/* A message. It may lie in RAM that has another use later: gcm_end wipes it. gcm_decrypt_words needs what it has from
 * `aes` on. */
typedef struct {
  uint32_t hash[AES_BLOCK_WORDS];
  uint32_t multiples[16][AES_BLOCK_WORDS]; /* of the hash key, by all polynomials of four bits */
  aes_t aes;
  uint32_t nonce[GCM_NONCE_BYTES / 4];
  uint32_t counter;
  uint32_t added_bytes;
  uint32_t text_bytes;
  bool is_usable; /* false after a call that the functions below do not allow */
} gcm_t;

/* Begins a message. False, as gcm_end will be, if `key_bytes` is neither 16 nor 32. */
bool gcm_begin(gcm_t *gcm, const uint8_t *key, uint32_t key_bytes, const uint8_t nonce[GCM_NONCE_BYTES]);

/* Adds associated data, which are authenticated and not encrypted: all of them before the first text. Whole blocks,
 * except in the last call. */
void gcm_add(gcm_t *gcm, const uint8_t *data, uint32_t bytes);

/* Decrypts text, at any addresses, from `in` to `out`, which may be equal and must not overlap otherwise. Whole blocks,
 * except in the last call; less than 4 GB in all. Nobody may use the result before gcm_end is true. */
void gcm_decrypt(gcm_t *gcm, const uint8_t *in, uint8_t *out, uint32_t bytes);

/* Takes text that gcm_decrypt_words decrypts later, as gcm_decrypt does; it is authenticated now. */
void gcm_pass(gcm_t *gcm, const uint8_t *text, uint32_t bytes);

/* Ends a message. Wipes `gcm`, and the stack that these functions have used if the same function calls them all. False
 * if a bit of key, nonce, associated data, text or tag is not the sender's, or if a call was not allowed: the caller
 * throws away what was decrypted. */
bool gcm_end(gcm_t *gcm, const uint8_t tag[GCM_TAG_BYTES]) __attribute__((warn_unused_result));

/* The same, but leaves the key schedule and the nonce in `gcm` if the message is the sender's. */
bool gcm_end_with_key(gcm_t *gcm, const uint8_t tag[GCM_TAG_BYTES]) __attribute__((warn_unused_result));

/* After gcm_end_with_key was true: decrypts words of the text from the word with index `first` on, any number of times.
 * Nothing is authenticated again: nobody may have written to the text since. What stays on the stack tells no more than
 * `gcm` and the result. */
void gcm_decrypt_words(const gcm_t *gcm, uint32_t first, const uint32_t *in, uint32_t *out, uint32_t words);

/* Wipes what gcm_end_with_key has left. */
void gcm_wipe(gcm_t *gcm);

#endif
