/* The functions of dsp.h in plain C: two signed halves or four signed bytes in a word, the lowest first.
 * Sums wrap around, as they do in the instructions.
 */
#ifndef DSP_TWINS_H
#define DSP_TWINS_H

#include <stdint.h>

static inline int32_t dsp_twin_half(uint32_t word, int32_t index) {
  return (int16_t)(uint16_t)(word >> (16 * index));
}

static inline int32_t dsp_twin_byte(uint32_t word, int32_t index) {
  return (int8_t)(uint8_t)(word >> (8 * index));
}

static inline uint32_t dsp_twin_pack(int32_t low, int32_t high) {
  return (uint32_t)(uint16_t)low | (uint32_t)high << 16;
}

static inline int32_t dsp_twin_add(int32_t sum, int32_t product) {
  return (int32_t)((uint32_t)sum + (uint32_t)product);
}

static inline uint32_t dsp_twin_even_bytes(uint32_t word) {
  return dsp_twin_pack(dsp_twin_byte(word, 0), dsp_twin_byte(word, 2));
}

static inline uint32_t dsp_twin_odd_bytes(uint32_t word) {
  return dsp_twin_pack(dsp_twin_byte(word, 1), dsp_twin_byte(word, 3));
}

static inline uint32_t dsp_twin_low_halves(uint32_t first, uint32_t second) {
  return dsp_twin_pack(dsp_twin_half(first, 0), dsp_twin_half(second, 0));
}

static inline uint32_t dsp_twin_high_halves(uint32_t first, uint32_t second) {
  return dsp_twin_pack(dsp_twin_half(first, 1), dsp_twin_half(second, 1));
}

static inline uint32_t dsp_twin_masked_left(uint32_t word, uint32_t mask) {
  return word << 8 & mask;
}

/* Every lane of two words, signed, as `expression` of the lanes a and b says. */
#define DSP_TWIN_LANES(name, lane, bits, expression) \
  static inline uint32_t dsp_twin_##name(uint32_t first, uint32_t second) { \
    uint32_t result = 0; \
    for (int32_t i = 0; i < 32 / (bits); i++) { \
      const int32_t a = dsp_twin_##lane(first, i), b = dsp_twin_##lane(second, i); \
      result |= ((uint32_t)(expression) & (UINT32_MAX >> (32 - (bits)))) << ((bits) * i); \
    } \
    return result; \
  }
#define DSP_TWIN_ALL_LANES(name, expression) \
  DSP_TWIN_LANES(name##_bytes, byte, 8, expression) \
  DSP_TWIN_LANES(name##_halves, half, 16, expression)

DSP_TWIN_ALL_LANES(max, a > b ? a : b)
DSP_TWIN_ALL_LANES(min, a < b ? a : b)
DSP_TWIN_ALL_LANES(half_sum, (a + b) >> 1)
DSP_TWIN_ALL_LANES(half_difference, (a - b) >> 1)
DSP_TWIN_LANES(saturated_sum_bytes, byte, 8, a + b > 127 ? 127 : (a + b < -128 ? -128 : a + b))
DSP_TWIN_LANES(saturated_sum_halves, half, 16, a + b > 32767 ? 32767 : (a + b < -32768 ? -32768 : a + b))

static inline uint32_t dsp_twin_look_up(const uint8_t *table, uint32_t word) {
  uint32_t found = 0;
  for (int32_t i = 0; i < 32; i += 8) {
    found |= (uint32_t)table[word >> i & 255] << i;
  }
  return found;
}

static inline uint32_t dsp_twin_cap_bytes(uint32_t word, uint32_t room) {
  uint32_t capped = 0;
  for (int32_t i = 0; i < 32; i += 8) {
    const uint32_t byte = word >> i & 255, cap = 255 - (room >> i & 255);
    capped |= (byte < cap ? byte : cap) << i;
  }
  return capped;
}

static inline uint32_t dsp_twin_add_halves(uint32_t first, uint32_t second) {
  const int32_t low = dsp_twin_half(first, 0) + dsp_twin_half(second, 0);
  return dsp_twin_pack(low, dsp_twin_half(first, 1) + dsp_twin_half(second, 1));
}

static inline uint32_t dsp_twin_subtract_halves(uint32_t first, uint32_t second) {
  const int32_t low = dsp_twin_half(first, 0) - dsp_twin_half(second, 0);
  return dsp_twin_pack(low, dsp_twin_half(first, 1) - dsp_twin_half(second, 1));
}

static inline int32_t dsp_twin_low_low(uint32_t x, uint32_t w, int32_t sum) {
  return dsp_twin_add(sum, dsp_twin_half(x, 0) * dsp_twin_half(w, 0));
}

static inline int32_t dsp_twin_low_high(uint32_t x, uint32_t w, int32_t sum) {
  return dsp_twin_add(sum, dsp_twin_half(x, 0) * dsp_twin_half(w, 1));
}

static inline int32_t dsp_twin_high_low(uint32_t x, uint32_t w, int32_t sum) {
  return dsp_twin_add(sum, dsp_twin_half(x, 1) * dsp_twin_half(w, 0));
}

static inline int32_t dsp_twin_high_high(uint32_t x, uint32_t w, int32_t sum) {
  return dsp_twin_add(sum, dsp_twin_half(x, 1) * dsp_twin_half(w, 1));
}

static inline int32_t dsp_twin_word_half(uint32_t x, int32_t half, int32_t sum) {
  return dsp_twin_add(sum, (int32_t)(((int64_t)(int32_t)x * half) >> 16));
}

static inline int32_t dsp_twin_word_low(uint32_t x, uint32_t w, int32_t sum) {
  return dsp_twin_word_half(x, dsp_twin_half(w, 0), sum);
}

static inline int32_t dsp_twin_word_high(uint32_t x, uint32_t w, int32_t sum) {
  return dsp_twin_word_half(x, dsp_twin_half(w, 1), sum);
}

static inline uint32_t dsp_twin_bytes(int32_t a, int32_t b, int32_t c, int32_t d) {
  return (uint32_t)(uint8_t)a | (uint32_t)(uint8_t)b << 8 | (uint32_t)(uint8_t)c << 16 | (uint32_t)d << 24;
}

static inline int32_t dsp_twin_dual(uint32_t x, uint32_t w, int32_t sum) {
  return dsp_twin_high_high(x, w, dsp_twin_low_low(x, w, sum));
}

static inline uint32_t dsp_twin_positive_halves(uint32_t word) {
  const int32_t low = dsp_twin_half(word, 0), high = dsp_twin_half(word, 1);
  return dsp_twin_pack(low < 0 ? 0 : (low > 127 ? 127 : low), high < 0 ? 0 : (high > 127 ? 127 : high));
}

/* The upper word of a product, rounded down, or by `rounds` 1 to nearest, halves up. It consists of products of halves,
 * as Cortex-M0+ has no longer ones: the compiler would call a function that multiplies 64 bits.
 */
static inline int32_t dsp_twin_upper_word(int32_t value, int32_t factor, int32_t rounds) {
  const int32_t low = value & 0xffff, high = value >> 16, factor_low = factor & 0xffff, factor_high = factor >> 16;
  const int32_t first = high * factor_low + (int32_t)((uint32_t)low * (uint32_t)factor_low >> 16);
  const int32_t second = low * factor_high + (first & 0xffff);
  return high * factor_high + (first >> 16) + (second >> 16) + (second >> 15 & rounds);
}

static inline int32_t dsp_twin_multiply_high(int32_t value, int32_t factor, int32_t offset) {
  return dsp_twin_upper_word(value, factor, 1) + offset;
}

static inline int32_t dsp_twin_multiply_add_high(int32_t value, int32_t factor, int32_t offset) {
  return (int32_t)((int64_t)value * factor >> 32) + offset;
}

static inline int32_t dsp_twin_rounded_twice(int32_t sum, int32_t multiplier, int32_t shift, int32_t zero) {
  const int32_t high = dsp_twin_multiply_high((int32_t)((uint32_t)sum << 1), multiplier, 0);
  return shift > 0 ? ((high - (high < 0) + (1 << (shift - 1))) >> shift) + zero : high + zero;
}

static inline int32_t dsp_twin_rounded_once(int32_t sum, int32_t multiplier, int32_t shift, int32_t zero) {
  const int32_t high = dsp_twin_upper_word((int32_t)((uint32_t)sum << 2), multiplier, 0);
  return ((high + (int32_t)((1u << shift) >> 1)) >> shift) + zero;
}

static inline int32_t dsp_twin_saturate(int32_t value, int32_t shift, int32_t low, int32_t high) {
  const int32_t shifted = value >> shift;
  return shifted < low ? low : (shifted > high ? high : shifted);
}

#endif
