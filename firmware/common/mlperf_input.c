#include "mlperf_input.h"

#include "crc32.h"
#include "mlperf_settings.h"
#include "network.h"

enum { MAP_BYTES = 256, REAL_BYTES = 4, BYTE_BITS = 8 };

enum { MANTISSA_BITS = 23, EXPONENT_OF_STEP = 127 + MANTISSA_BITS - MLPERF_STEP_BITS };
enum { MOST_SHIFT = 6, LARGEST = 1 << 30 };

uint32_t mlperf_input_taken;
uint32_t mlperf_input_crc;

static uint32_t values(void) { return network_input.bytes / mlperf_settings.input_value_bytes; }

uint32_t mlperf_input_bytes(void) {
  if (mlperf_settings.reals) return values() * REAL_BYTES;
  return mlperf_settings.input_map ? values() : network_input.bytes;
}

void mlperf_input_begin(void) {
  mlperf_input_taken = 0;
  mlperf_input_crc = 0;
}

static uint8_t *place_of(uint32_t value) {
  return network_arena + network_input.stage + value * mlperf_settings.input_value_bytes;
}

static void store(uint32_t index, int32_t value) {
  uint8_t *to = place_of(index);
  for (uint32_t i = 0; i < mlperf_settings.input_value_bytes; i++) to[i] = (uint8_t)((uint32_t)value >> BYTE_BITS * i);
  mlperf_input_crc = crc32(mlperf_input_crc, to, mlperf_settings.input_value_bytes);
}

/* Towards zero; larger values, infinity and NaN become the largest. */
int32_t mlperf_input_real(uint32_t index) {
  const uint8_t *from = mlperf_settings.reals + index * REAL_BYTES;
  uint32_t real = 0;
  for (uint32_t i = 0; i < REAL_BYTES; i++) real |= (uint32_t)from[i] << BYTE_BITS * i;
  uint32_t mantissa = (real & ((1u << MANTISSA_BITS) - 1u)) | 1u << MANTISSA_BITS;
  int32_t exponent = (int32_t)(real >> MANTISSA_BITS & 255u) - EXPONENT_OF_STEP;
  uint32_t steps = 0;
  if (exponent > MOST_SHIFT) {
    steps = LARGEST;
  } else if (exponent >= 0) {
    steps = mantissa << exponent;
  } else if (exponent > -MANTISSA_BITS - 1) {
    steps = mantissa >> -exponent;
  }
  return real >> 31 ? -(int32_t)steps : (int32_t)steps;
}

static int32_t quantized(int32_t steps) {
  int64_t half = (int64_t)1 << mlperf_settings.real_shift >> 1;
  int64_t value = (((int64_t)steps * mlperf_settings.real_factor + half) >> mlperf_settings.real_shift) +
                  mlperf_settings.input_zero_point;
  int32_t highest = (1 << (BYTE_BITS * mlperf_settings.input_value_bytes - 1)) - 1;
  return value > highest ? highest : value < -highest - 1 ? -highest - 1 : (int32_t)value;
}

void mlperf_input_take(uint8_t byte) {
  uint32_t index = mlperf_input_taken++;
  if (mlperf_settings.reals) {
    mlperf_settings.reals[index] = byte;
    uint32_t value = index / REAL_BYTES;
    if (index % REAL_BYTES == REAL_BYTES - 1) store(value, quantized(mlperf_input_real(value)));
  } else if (mlperf_settings.input_map) {
    store(index, mlperf_settings.input_map[byte]);
  } else {
    place_of(0)[index] = byte;
    mlperf_input_crc = crc32(mlperf_input_crc, &byte, 1);
  }
}

uint8_t mlperf_input_byte(uint32_t index) {
  if (mlperf_settings.reals) return mlperf_settings.reals[index];
  if (!mlperf_settings.input_map) return place_of(0)[index];
  int32_t value = mlperf_value(place_of(index), mlperf_settings.input_value_bytes);
  uint32_t byte = 0;
  while (byte < MAP_BYTES - 1 && mlperf_settings.input_map[byte] != value) byte++;
  return (uint8_t)byte;
}
