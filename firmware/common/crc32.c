#include "crc32.h"

#include <string.h>

#define POLYNOMIAL 0xEDB88320u
#define ONE 0x80000000u /* the polynomial 1: bits are reflected */

/* In RAM: data reads from flash make the core wait, and take it from instructions on a Cortex-M0+. A compiler would put
 * a table that nobody writes into flash. */
__attribute__((section(".data"))) static uint32_t nibbles[16] = {
    0x00000000u, 0x1DB71064u, 0x3B6E20C8u, 0x26D930ACu, 0x76DC4190u, 0x6B6B51F4u, 0x4DB26158u, 0x5005713Cu,
    0xEDB88320u, 0xF00F9344u, 0xD6D6A3E8u, 0xCB61B38Cu, 0x9B64C2B0u, 0x86D3D2D4u, 0xA00AE278u, 0xBDBDF21Cu};

__attribute__((always_inline)) static inline uint32_t next_nibble(uint32_t crc) {
  uint32_t offset = (crc << 2) & 60u;
  return (crc >> 4) ^ *(const uint32_t *)((const uint8_t *)nibbles + offset);
}

static inline uint32_t next_byte(uint32_t crc, uint8_t byte) { return next_nibble(next_nibble(crc ^ byte)); }

/* As next_byte for four bytes in the order of their addresses. */
static uint32_t next_word(uint32_t crc, uint32_t word) {
  crc ^= word;
#pragma GCC unroll 8
  for (uint32_t i = 0; i < 8u; i++) crc = next_nibble(crc);
  return crc;
}

uint32_t crc32_copy(uint32_t crc, uint8_t *to, const uint8_t *from, uint32_t count) {
  const uint8_t *end = from + count;
  while (from != end && (uintptr_t)from % sizeof(uint32_t)) crc = next_byte(crc, *to++ = *from++);
  for (; (uint32_t)(end - from) >= sizeof(uint32_t); from += sizeof(uint32_t), to += sizeof(uint32_t)) {
    uint32_t word;
    memcpy(&word, __builtin_assume_aligned(from, sizeof word), sizeof word);
    to[0] = (uint8_t)word;
    to[1] = (uint8_t)(word >> 8);
    to[2] = (uint8_t)(word >> 16);
    to[3] = (uint8_t)(word >> 24);
    crc = next_word(crc, word);
  }
  while (from != end) crc = next_byte(crc, *to++ = *from++);
  return crc;
}

uint32_t crc32(uint32_t start, const uint8_t *bytes, uint32_t count) {
  uint32_t crc = ~start;
  while (count--) crc = next_byte(crc, *bytes++);
  return ~crc;
}

/* Product of two polynomials modulo that of the CRC. */
static uint32_t multiply(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (uint32_t bit = ONE; bit; bit >>= 1) {
    if (a & bit) product ^= b;
    b = (b >> 1) ^ (b & 1u ? POLYNOMIAL : 0u);
  }
  return product;
}

/* x to the power of 8 * 2^i: 2^i bytes of 0. */
static const uint32_t powers[] = {
    0x00800000u, 0x00008000u, 0xEDB88320u, 0xB1E6B092u, 0xA06A2517u, 0xED627DAEu,
    0x88D14467u, 0xD7BBFE6Au, 0xEC447F11u, 0x8E7EA170u, 0x6427800Eu, 0x4D47BAE0u};

uint32_t crc32_zeros(uint32_t crc, uint32_t count) {
  for (const uint32_t *power = powers; count; count >>= 1, power++) {
    if (count & 1u) crc = multiply(*power, crc);
  }
  return crc;
}
