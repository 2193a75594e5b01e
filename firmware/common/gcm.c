#include "gcm.h"

#include <stddef.h>

#define REDUCTION 0xE1000000u /* x^128 = 1 + x + x^2 + x^7; the highest bit of a word is the lowest power */
#define STACK_BYTES 256u      /* more than the deepest calls take, with an interrupt (-fstack-usage: 168) */

/* Not memset: a compiler leaves out writes to what nobody reads. */
static void wipe(void *memory, uint32_t bytes) {
  for (volatile uint8_t *byte = memory; bytes; bytes--) *byte++ = 0;
}

static void copy(uint8_t *to, const uint8_t *from, uint32_t bytes) {
  while (bytes--) *to++ = *from++;
}

static inline uint32_t load(const uint8_t *bytes) {
  return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static inline void store(uint8_t *bytes, uint32_t word) {
  bytes[0] = (uint8_t)word;
  bytes[1] = (uint8_t)(word >> 8);
  bytes[2] = (uint8_t)(word >> 16);
  bytes[3] = (uint8_t)(word >> 24);
}

/* The product of the hash with the hash key, from the highest powers of x down (SP 800-38D section 6.3, four bits at a
 * time). */
static void multiply_hash(gcm_t *gcm) {
  uint32_t a = 0, b = 0, c = 0, d = 0;
  for (uint32_t i = AES_BLOCK_WORDS; i--;) {
    uint32_t word = gcm->hash[i];
    for (uint32_t nibbles = 8; nibbles; nibbles--, word >>= 4) {
      const uint32_t *multiple = gcm->multiples[word & 15u];
      uint32_t high = d << 28; /* the powers from x^128, less 128 */
      d = (d >> 4 | c << 28) ^ multiple[3];
      c = (c >> 4 | b << 28) ^ multiple[2];
      b = (b >> 4 | a << 28) ^ multiple[1];
      a = a >> 4 ^ high ^ high >> 1 ^ high >> 2 ^ high >> 7 ^ multiple[0];
    }
  }
  gcm->hash[0] = a;
  gcm->hash[1] = b;
  gcm->hash[2] = c;
  gcm->hash[3] = d;
}

static void hash_block(gcm_t *gcm, const uint32_t block[AES_BLOCK_WORDS]) {
  for (uint32_t i = 0; i < AES_BLOCK_WORDS; i++) gcm->hash[i] ^= __builtin_bswap32(block[i]);
  multiply_hash(gcm);
}

static void load_block(uint32_t block[AES_BLOCK_WORDS], const uint8_t *bytes) {
  for (uint32_t i = 0; i < AES_BLOCK_WORDS; i++) block[i] = load(bytes + 4u * i);
}

static void make_multiples(gcm_t *gcm, const uint32_t hash_key[AES_BLOCK_WORDS]) {
  uint32_t(*multiples)[AES_BLOCK_WORDS] = gcm->multiples;
  uint32_t a = __builtin_bswap32(hash_key[0]), b = __builtin_bswap32(hash_key[1]);
  uint32_t c = __builtin_bswap32(hash_key[2]), d = __builtin_bswap32(hash_key[3]);
  for (uint32_t power = 8; power; power >>= 1) {
    uint32_t *multiple = multiples[power];
    multiple[0] = a;
    multiple[1] = b;
    multiple[2] = c;
    multiple[3] = d;
    uint32_t carry = 0u - (d & 1u);
    d = d >> 1 | c << 31;
    c = c >> 1 | b << 31;
    b = b >> 1 | a << 31;
    a = a >> 1 ^ (carry & REDUCTION);
  }
  for (uint32_t power = 2; power < 16u; power <<= 1) {
    for (uint32_t rest = 1; rest < power; rest++) {
      for (uint32_t i = 0; i < AES_BLOCK_WORDS; i++) {
        multiples[power + rest][i] = multiples[power][i] ^ multiples[rest][i];
      }
    }
  }
}

/* The counter block of this number, encrypted. */
static void make_key_stream(const gcm_t *gcm, uint32_t counter, uint32_t stream[AES_BLOCK_WORDS]) {
  for (uint32_t i = 0; i < 3u; i++) stream[i] = gcm->nonce[i];
  stream[3] = __builtin_bswap32(counter);
  aes_encrypt(&gcm->aes, stream);
}

bool gcm_begin(gcm_t *gcm, const uint8_t *key, uint32_t key_bytes, const uint8_t nonce[GCM_NONCE_BYTES]) {
  wipe(gcm, sizeof *gcm);
  if (!aes_begin(&gcm->aes, key, key_bytes)) return false;
  uint32_t hash_key[AES_BLOCK_WORDS] = {0};
  aes_encrypt(&gcm->aes, hash_key);
  make_multiples(gcm, hash_key);
  wipe(hash_key, sizeof hash_key);
  for (uint32_t i = 0; i < 3u; i++) gcm->nonce[i] = load(nonce + 4u * i);
  gcm->counter = 1;
  gcm->is_usable = true;
  return true;
}

/* Counts bytes, and says whether they may follow those before. */
static bool counts(gcm_t *gcm, uint32_t *total, uint32_t bytes) {
  if (*total % GCM_BLOCK_BYTES != 0 || bytes > UINT32_MAX - *total) gcm->is_usable = false;
  *total += bytes;
  return gcm->is_usable;
}

/* Hashes bytes, filled up with zeros to whole blocks. */
static void hash_bytes(gcm_t *gcm, const uint8_t *data, uint32_t bytes) {
  uint32_t block[AES_BLOCK_WORDS];
  for (; bytes >= GCM_BLOCK_BYTES; bytes -= GCM_BLOCK_BYTES, data += GCM_BLOCK_BYTES) {
    load_block(block, data);
    hash_block(gcm, block);
  }
  if (!bytes) return;
  uint8_t padded[GCM_BLOCK_BYTES] = {0};
  copy(padded, data, bytes);
  load_block(block, padded);
  hash_block(gcm, block);
}

void gcm_add(gcm_t *gcm, const uint8_t *data, uint32_t bytes) {
  if (!bytes) return;
  if (gcm->text_bytes) gcm->is_usable = false;
  if (counts(gcm, &gcm->added_bytes, bytes)) hash_bytes(gcm, data, bytes);
}

void gcm_pass(gcm_t *gcm, const uint8_t *text, uint32_t bytes) {
  if (!bytes || !counts(gcm, &gcm->text_bytes, bytes)) return;
  hash_bytes(gcm, text, bytes);
  gcm->counter += (bytes + GCM_BLOCK_BYTES - 1u) / GCM_BLOCK_BYTES;
}

static void decrypt_block(gcm_t *gcm, const uint8_t *in, uint8_t *out) {
  uint32_t block[AES_BLOCK_WORDS], stream[AES_BLOCK_WORDS];
  load_block(block, in);
  hash_block(gcm, block);
  make_key_stream(gcm, ++gcm->counter, stream);
  for (uint32_t i = 0; i < AES_BLOCK_WORDS; i++) store(out + 4u * i, block[i] ^ stream[i]);
}

void gcm_decrypt(gcm_t *gcm, const uint8_t *in, uint8_t *out, uint32_t bytes) {
  if (!bytes || !counts(gcm, &gcm->text_bytes, bytes)) return;
  for (; bytes >= GCM_BLOCK_BYTES; bytes -= GCM_BLOCK_BYTES, in += GCM_BLOCK_BYTES, out += GCM_BLOCK_BYTES) {
    decrypt_block(gcm, in, out);
  }
  if (!bytes) return;
  uint8_t padded[GCM_BLOCK_BYTES] = {0};
  copy(padded, in, bytes);
  decrypt_block(gcm, padded, padded);
  copy(out, padded, bytes);
  wipe(padded, sizeof padded);
}

/* Whether the tag is that of the message. */
static bool has_tag(gcm_t *gcm, const uint8_t *tag) {
  uint32_t *hash = gcm->hash;
  hash[0] ^= gcm->added_bytes >> 29; /* lengths in bits, of 64 bits each */
  hash[1] ^= gcm->added_bytes << 3;
  hash[2] ^= gcm->text_bytes >> 29;
  hash[3] ^= gcm->text_bytes << 3;
  multiply_hash(gcm);
  uint32_t mask[AES_BLOCK_WORDS];
  make_key_stream(gcm, 1, mask);
  volatile uint32_t difference = 0; /* volatile: every word is compared */
  for (uint32_t i = 0; i < AES_BLOCK_WORDS; i++) {
    difference |= load(tag + 4u * i) ^ mask[i] ^ __builtin_bswap32(hash[i]);
  }
  wipe(mask, sizeof mask);
  return difference == 0;
}

/* Wipes what the calls before have left below the frame of gcm_end: round keys and key stream among it. */
__attribute__((noinline)) static void wipe_stack(void) {
  uint8_t left[STACK_BYTES];
  wipe(left, sizeof left);
}

void gcm_wipe(gcm_t *gcm) { wipe(gcm, sizeof *gcm); }

bool gcm_end(gcm_t *gcm, const uint8_t tag[GCM_TAG_BYTES]) {
  bool is_good = gcm->is_usable && has_tag(gcm, tag);
  gcm_wipe(gcm);
  wipe_stack();
  return is_good;
}

bool gcm_end_with_key(gcm_t *gcm, const uint8_t tag[GCM_TAG_BYTES]) {
  bool is_good = gcm->is_usable && has_tag(gcm, tag);
  wipe(gcm, offsetof(gcm_t, aes));
  wipe_stack();
  if (!is_good) gcm_wipe(gcm);
  return is_good;
}

void gcm_decrypt_words(const gcm_t *gcm, uint32_t first, const uint32_t *in, uint32_t *out, uint32_t words) {
  uint32_t stream[AES_BLOCK_WORDS];
  for (uint32_t index = first; index < first + words; index++) {
    uint32_t place = index % AES_BLOCK_WORDS;
    if (index == first || place == 0) make_key_stream(gcm, index / AES_BLOCK_WORDS + 2u, stream);
    *out++ = *in++ ^ stream[place];
  }
}
