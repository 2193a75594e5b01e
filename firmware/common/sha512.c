#include "sha512.h"

#include <string.h>

#ifdef __ARM_ARCH_7EM__
#pragma GCC optimize("align-loops=16:5") /* on Cortex-M4 a branch into another line of a code cache may wait */
#endif

enum {
  ROUNDS = 80,
  BLOCK_BYTES = SHA512_BLOCK_WORDS * 8,
  LENGTH_BYTES = 16, /* at the end of the last block */
  MOVES = 16         /* of the window before it is copied back */
};

/* FIPS 180-4 section 5.3.5: of the square roots of the first 8 primes, the first 64 bits behind the point. */
static const uint64_t first_state[SHA512_STATE_WORDS] = {
    0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
    0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
};

/* Section 4.2.3: the same of the cube roots of the first 80 primes. */
static const uint64_t constants[ROUNDS] = {
    0x428a2f98d728ae22, 0x7137449123ef65cd, 0xb5c0fbcfec4d3b2f, 0xe9b5dba58189dbbc,
    0x3956c25bf348b538, 0x59f111f1b605d019, 0x923f82a4af194f9b, 0xab1c5ed5da6d8118,
    0xd807aa98a3030242, 0x12835b0145706fbe, 0x243185be4ee4b28c, 0x550c7dc3d5ffb4e2,
    0x72be5d74f27b896f, 0x80deb1fe3b1696b1, 0x9bdc06a725c71235, 0xc19bf174cf692694,
    0xe49b69c19ef14ad2, 0xefbe4786384f25e3, 0x0fc19dc68b8cd5b5, 0x240ca1cc77ac9c65,
    0x2de92c6f592b0275, 0x4a7484aa6ea6e483, 0x5cb0a9dcbd41fbd4, 0x76f988da831153b5,
    0x983e5152ee66dfab, 0xa831c66d2db43210, 0xb00327c898fb213f, 0xbf597fc7beef0ee4,
    0xc6e00bf33da88fc2, 0xd5a79147930aa725, 0x06ca6351e003826f, 0x142929670a0e6e70,
    0x27b70a8546d22ffc, 0x2e1b21385c26c926, 0x4d2c6dfc5ac42aed, 0x53380d139d95b3df,
    0x650a73548baf63de, 0x766a0abb3c77b2a8, 0x81c2c92e47edaee6, 0x92722c851482353b,
    0xa2bfe8a14cf10364, 0xa81a664bbc423001, 0xc24b8b70d0f89791, 0xc76c51a30654be30,
    0xd192e819d6ef5218, 0xd69906245565a910, 0xf40e35855771202a, 0x106aa07032bbd1b8,
    0x19a4c116b8d2d0c8, 0x1e376c085141ab53, 0x2748774cdf8eeb99, 0x34b0bcb5e19b48a8,
    0x391c0cb3c5c95a63, 0x4ed8aa4ae3418acb, 0x5b9cca4f7763e373, 0x682e6ff3d6b2b8a3,
    0x748f82ee5defb2fc, 0x78a5636f43172f60, 0x84c87814a1f0ab72, 0x8cc702081a6439ec,
    0x90befffa23631e28, 0xa4506cebde82bde9, 0xbef9a3f7b2c67915, 0xc67178f2e372532b,
    0xca273eceea26619c, 0xd186b8c721c0c207, 0xeada7dd6cde0eb1e, 0xf57d4f7fee6ed178,
    0x06f067aa72176fba, 0x0a637dc5a2c898a6, 0x113f9804bef90dae, 0x1b710b35131c471b,
    0x28db77f523047d84, 0x32caab7b40c72493, 0x3c9ebe0a15c9bebc, 0x431d67c49c100d4c,
    0x4cc5d4becb3e42b6, 0x597f299cfc657e2a, 0x5fcb6fab3ad6faec, 0x6c44198c4a475817,
};

static inline uint64_t rotated(uint64_t word, uint32_t bits) { return word >> bits | word << (64u - bits); }

/* Section 4.1.3. */
static inline uint64_t upper_0(uint64_t x) { return rotated(x, 28) ^ rotated(x, 34) ^ rotated(x, 39); }
static inline uint64_t upper_1(uint64_t x) { return rotated(x, 14) ^ rotated(x, 18) ^ rotated(x, 41); }
static inline uint64_t lower_0(uint64_t x) { return rotated(x, 1) ^ rotated(x, 8) ^ x >> 7; }
static inline uint64_t lower_1(uint64_t x) { return rotated(x, 19) ^ rotated(x, 61) ^ x >> 6; }

/* Section 6.4.2. The eight variables lie in a window that moves down by a word each round: two of them are written. */
static void add_block(sha512_t *sha) {
  uint64_t words[SHA512_STATE_WORDS + MOVES], *window = words + MOVES;
  for (uint32_t i = 0; i < SHA512_STATE_WORDS; i++) window[i] = sha->state[i];
  for (uint32_t i = 0; i < SHA512_BLOCK_WORDS; i++) sha->block[i] = __builtin_bswap64(sha->block[i]);
  for (uint32_t round = 0; round < ROUNDS; round++) {
    uint64_t *word = &sha->block[round % SHA512_BLOCK_WORDS];
    if (round >= SHA512_BLOCK_WORDS) {
      *word += lower_0(sha->block[(round + 1u) % SHA512_BLOCK_WORDS]) + sha->block[(round + 9u) % SHA512_BLOCK_WORDS];
      *word += lower_1(sha->block[(round + 14u) % SHA512_BLOCK_WORDS]);
    }
    uint64_t a = window[0], b = window[1], c = window[2], e = window[4], f = window[5], g = window[6];
    uint64_t sum = window[7] + upper_1(e) + (g ^ (e & (f ^ g))) + constants[round] + *word;
    window[3] += sum;
    *--window = sum + upper_0(a) + ((a & b) | (c & (a | b)));
    if (window == words) {
      window = words + MOVES;
      for (uint32_t i = 0; i < SHA512_STATE_WORDS; i++) window[i] = words[i];
    }
  }
  for (uint32_t i = 0; i < SHA512_STATE_WORDS; i++) sha->state[i] += window[i];
}

void sha512_begin(sha512_t *sha) {
  memcpy(sha->state, first_state, sizeof sha->state);
  sha->bytes = 0;
}

void sha512_add(sha512_t *sha, const uint8_t *data, uint32_t bytes) {
  while (bytes) {
    uint32_t begin = sha->bytes % BLOCK_BYTES, room = BLOCK_BYTES - begin;
    uint32_t part = bytes < room ? bytes : room;
    memcpy((uint8_t *)sha->block + begin, data, part);
    sha->bytes += part;
    data += part;
    bytes -= part;
    if (part == room) add_block(sha);
  }
}

void sha512_end(sha512_t *sha, uint8_t digest[SHA512_BYTES]) {
  uint8_t *block = (uint8_t *)sha->block;
  uint32_t end = sha->bytes % BLOCK_BYTES;
  block[end++] = 0x80;
  memset(block + end, 0, BLOCK_BYTES - end);
  if (end > BLOCK_BYTES - LENGTH_BYTES) {
    add_block(sha);
    memset(block, 0, BLOCK_BYTES);
  }
  sha->block[SHA512_BLOCK_WORDS - 1] = __builtin_bswap64((uint64_t)sha->bytes * 8u);
  add_block(sha);
  for (uint32_t i = 0; i < SHA512_STATE_WORDS; i++) sha->state[i] = __builtin_bswap64(sha->state[i]);
  memcpy(digest, sha->state, SHA512_BYTES);
}
