#include "aes.h"

#define LOW_BITS 0x01010101u
#define POLYNOMIAL 0x1Bu /* x^8 modulo the polynomial of FIPS 197 section 4.2 */
#define AFFINE_CONSTANT 0x63u
#define GENERATOR 0x03u         /* its powers are all elements but 0 */
#define GENERATOR_INVERSE 0xF6u /* 3 * F6 = 1 */

static inline uint32_t rotated_right(uint32_t word, uint32_t bits) { return word >> bits | word << (32u - bits); }

/* The products of the four bytes of a word with x. */
static inline uint32_t times_x(uint32_t word) {
  uint32_t carries = (word >> 7) & LOW_BITS;
  return ((word ^ carries << 7) << 1) ^ carries * POLYNOMIAL;
}

static uint32_t product(uint32_t a, uint32_t b) {
  uint32_t sum = 0;
  for (; b; b >>= 1, a = times_x(a)) sum ^= b & 1u ? a : 0u;
  return sum;
}

/* FIPS 197 section 5.1.1: bit i of the result is the sum of bits i, i + 4, i + 5, i + 6 and i + 7 modulo 8. */
static uint8_t affine(uint32_t byte) {
  uint32_t twice = byte << 8 | byte;
  return (uint8_t)(byte ^ twice >> 4 ^ twice >> 5 ^ twice >> 6 ^ twice >> 7 ^ AFFINE_CONSTANT);
}

/* The element 3^i has the inverse (1/3)^i; 0 counts as its own inverse. */
static void make_sbox(uint8_t sbox[256]) {
  uint32_t element = 1, inverse = 1;
  sbox[0] = affine(0);
  for (uint32_t i = 0; i < 255u; i++) {
    sbox[element] = affine(inverse);
    element = product(element, GENERATOR);
    inverse = product(inverse, GENERATOR_INVERSE);
  }
}

/* One byte each of four words, the low byte of the first to the high byte of the last, through the S-box. */
static inline uint32_t substituted(const uint8_t *sbox, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  return sbox[a & 255u] | (uint32_t)sbox[(b >> 8) & 255u] << 8 | (uint32_t)sbox[(c >> 16) & 255u] << 16 |
         (uint32_t)sbox[d >> 24] << 24;
}

/* FIPS 197 section 5.2. */
static void expand_key(aes_t *aes, uint32_t key_words) {
  uint32_t *keys = aes->round_keys;
  uint32_t constant = 1;
  for (uint32_t i = key_words; i < (aes->rounds + 1u) * AES_BLOCK_WORDS; i++) {
    uint32_t word = keys[i - 1u];
    if (i % key_words == 0) {
      word = rotated_right(word, 8);
      word = substituted(aes->sbox, word, word, word, word) ^ constant;
      constant = times_x(constant);
    } else if (key_words == 8u && i % 8u == 4u) {
      word = substituted(aes->sbox, word, word, word, word);
    }
    keys[i] = keys[i - key_words] ^ word;
  }
}

bool aes_begin(aes_t *aes, const uint8_t *key, uint32_t key_bytes) {
  if (key_bytes != 16u && key_bytes != 32u) return false;
  uint32_t key_words = key_bytes / (uint32_t)sizeof(uint32_t);
  aes->rounds = key_words + 6u;
  for (uint32_t i = 0; i < key_words; i++, key += sizeof(uint32_t)) {
    aes->round_keys[i] = key[0] | (uint32_t)key[1] << 8 | (uint32_t)key[2] << 16 | (uint32_t)key[3] << 24;
  }
  make_sbox(aes->sbox);
  expand_key(aes, key_words);
  return true;
}

/* FIPS 197 section 5.1.3: byte i becomes 2 b(i) + 3 b(i + 1) + b(i + 2) + b(i + 3), indices modulo 4. */
static inline uint32_t mixed(uint32_t column) {
  uint32_t next = rotated_right(column, 8);
  uint32_t pairs = column ^ next;
  return times_x(pairs) ^ next ^ rotated_right(pairs, 16);
}

void aes_encrypt(const aes_t *aes, uint32_t block[AES_BLOCK_WORDS]) {
  const uint8_t *sbox = aes->sbox;
  const uint32_t *key = aes->round_keys;
  uint32_t a = block[0] ^ key[0], b = block[1] ^ key[1], c = block[2] ^ key[2], d = block[3] ^ key[3];
  for (uint32_t rounds = aes->rounds;;) {
    uint32_t e = substituted(sbox, a, b, c, d);
    uint32_t f = substituted(sbox, b, c, d, a);
    uint32_t g = substituted(sbox, c, d, a, b);
    uint32_t h = substituted(sbox, d, a, b, c);
    key += AES_BLOCK_WORDS;
    if (--rounds == 0) {
      block[0] = e ^ key[0];
      block[1] = f ^ key[1];
      block[2] = g ^ key[2];
      block[3] = h ^ key[3];
      return;
    }
    a = mixed(e) ^ key[0];
    b = mixed(f) ^ key[1];
    c = mixed(g) ^ key[2];
    d = mixed(h) ^ key[3];
  }
}
