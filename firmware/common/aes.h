/* AES with keys of 128 or 256 bits (FIPS 197): encryption of single blocks. */
#ifndef AES_H
#define AES_H

#include <stdbool.h>
#include <stdint.h>

enum { AES_BLOCK_BYTES = 16, AES_BLOCK_WORDS = 4, AES_MOST_ROUNDS = 14 };

/* A key that is ready to use. The S-box lies here, in RAM: reads of flash take a time that depends on the address where
 * flash has a data cache (F4, L4), and would tell of the key. */
typedef struct {
  uint32_t round_keys[(AES_MOST_ROUNDS + 1) * AES_BLOCK_WORDS];
  uint8_t sbox[256];
  uint32_t rounds;
} aes_t;

/* False if `key_bytes` is neither 16 nor 32. */
bool aes_begin(aes_t *aes, const uint8_t *key, uint32_t key_bytes);

/* Encrypts a block in place. The first byte of a block is the low byte of its first word. */
void aes_encrypt(const aes_t *aes, uint32_t block[AES_BLOCK_WORDS]);

#endif
