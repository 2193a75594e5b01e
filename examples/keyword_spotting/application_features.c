#include "application_features.h"

#include <stdbool.h>
#include <string.h>

#include "application_tables.h"

enum { HALF = FFT / 2, OVERLAP = WINDOW - HOP, LOG_BITS = 16, REST_BITS = 25, DCT_SHIFT = 26 };

_Static_assert(HOP == FEATURES_HOP && COEFFICIENTS == FEATURES_COEFFICIENTS, "as in mfcc.py");

typedef struct {
  int32_t real, imaginary;
} complex_t;

static int16_t window[WINDOW]; /* the last samples */
static complex_t values[HALF];
static uint64_t bands[BANDS];

/* Half of the product with a twiddle factor of 31 fraction bits, rounded. */
static inline complex_t half_times(complex_t value, int32_t cosine, int32_t sine) {
  const int64_t half = (int64_t)1 << 31;
  int64_t real = half + (int64_t)value.real * cosine + (int64_t)value.imaginary * -sine;
  int64_t imaginary = half + (int64_t)value.real * sine + (int64_t)value.imaginary * cosine;
  return (complex_t){(int32_t)(real >> 32), (int32_t)(imaginary >> 32)};
}

static inline int32_t windowed(uint32_t index) {
  if (index >= WINDOW) return 0;
  int32_t factor = hann[index <= WINDOW / 2 ? index : WINDOW - index];
  return (window[index] * factor) >> 1;
}

/* Two real values are a complex one; their order is that of the reversed bits of their indices. */
static void take_window(void) {
  uint32_t from = 0;
  for (uint32_t i = 0; i < HALF; i++) {
    values[i] = (complex_t){windowed(2u * from), windowed(2u * from + 1u)};
    uint32_t bit = HALF / 2;
    for (; from & bit; bit >>= 1) from ^= bit;
    from |= bit;
  }
}

/* Radix 2, decimation in time; each stage halves, so that nothing overflows. */
static void transform(void) {
  for (uint32_t half = 1; half < HALF; half *= 2u) {
    for (uint32_t k = 0; k < half; k++) {
      int32_t cosine = cosines[k * (HALF / half)], sine = sines[k * (HALF / half)];
      for (complex_t *low = values + k, *high = low + half; low < values + HALF; low += 2u * half, high += 2u * half) {
        complex_t other = half_times(*high, cosine, sine);
        complex_t own = {(low->real + 1) >> 1, (low->imaginary + 1) >> 1};
        *low = (complex_t){own.real + other.real, own.imaginary + other.imaginary};
        *high = (complex_t){own.real - other.real, own.imaginary - other.imaginary};
      }
    }
  }
}

/* Of the highest 31 or 32 bits, by Newton's method from at most a quarter too much. */
static uint32_t root(uint64_t value) {
  if (value == 0) return 0;
  int32_t shift = (33 - __builtin_clzll(value)) & ~1;
  uint32_t n = (uint32_t)(shift < 0 ? value << -shift : value >> shift);
  uint32_t result = (n >> 17) + (1u << 15);
  for (uint32_t i = 0; i < 3; i++) result = (result + n / result) >> 1;
  return shift < 0 ? result >> (-shift / 2) : result << (shift / 2);
}

/* Of the bin k of the real values, with 3 fraction bits more than they have. */
static uint32_t magnitude(uint32_t k) {
  complex_t value = values[k], mirrored = values[HALF - k];
  complex_t odd = {value.imaginary + mirrored.imaginary, mirrored.real - value.real};
  odd = half_times(odd, cosines[k], sines[k]);
  int64_t real = ((value.real + mirrored.real) >> 1) + odd.real;
  int64_t imaginary = ((value.imaginary - mirrored.imaginary) >> 1) + odd.imaginary;
  return root((uint64_t)(real * real + imaginary * imaginary) << 6);
}

/* A bin between the centres of two bands belongs to both. */
static void add_to_bands(void) {
  for (uint32_t i = 0; i < BANDS; i++) bands[i] = BAND_FLOOR;
  for (uint32_t k = 1; k < BINS; k++) {
    uint64_t all = magnitude(k);
    int32_t band = falling_band[k];
    uint32_t weight = falling_weight[k];
    if (band >= 0) bands[band] += all * weight;
    if (band + 1 < BANDS) bands[band + 1] += all * ((1u << 15) - weight);
  }
}

/* To the base of 2, with 16 fraction bits. */
static int32_t logarithm(uint64_t value) {
  int32_t exponent = 63 - __builtin_clzll(value);
  uint32_t mantissa = (uint32_t)((value << (63 - exponent)) >> 32);
  uint32_t step = (mantissa >> REST_BITS) & (LOG_STEPS - 1u);
  int32_t rest = (int32_t)((mantissa & ((1u << REST_BITS) - 1u)) >> (REST_BITS - LOG_BITS));
  int32_t slope = logarithms[step + 1u] - logarithms[step];
  return exponent * (1 << LOG_BITS) + logarithms[step] + ((slope * rest) >> LOG_BITS);
}

static int16_t coefficient(const int32_t *levels, const int32_t *factors) {
  int64_t sum = (int64_t)1 << (DCT_SHIFT - 1);
  for (uint32_t i = 0; i < BANDS; i++) sum += (int64_t)levels[i] * factors[i];
  sum >>= DCT_SHIFT;
  if (sum > INT16_MAX) return INT16_MAX;
  return sum < INT16_MIN ? INT16_MIN : (int16_t)sum;
}

void features_begin(void) { memset(window, 0, sizeof window); }

void features_next(const int16_t *samples, int16_t *features) {
  int32_t levels[BANDS];
  memmove(window, window + HOP, OVERLAP * sizeof *window);
  memcpy(window + OVERLAP, samples, HOP * sizeof *window);
  take_window();
  transform();
  add_to_bands();
  for (uint32_t i = 0; i < BANDS; i++) levels[i] = logarithm(bands[i]) - BAND_BITS * (1 << LOG_BITS);
  for (uint32_t i = 0; i < COEFFICIENTS; i++) features[i] = coefficient(levels, dct + i * BANDS);
}
