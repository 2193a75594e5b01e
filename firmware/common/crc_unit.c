#include "crc_unit.h"

#include "device.h"

#ifdef CRC_CR_REV_IN
#define OPTIONS (CRC_CR_REV_IN | CRC_CR_REV_OUT)

static inline uint32_t ordered(uint32_t word) { return word; }
#else
#define OPTIONS 0u

/* The unit begins with bit 31, the CRC with bit 0. */
static inline uint32_t ordered(uint32_t word) {
  uint32_t reversed;
  __asm__("rbit %0, %1" : "=r"(reversed) : "r"(word));
  return reversed;
}
#endif

void crc_unit_begin(void) {
  CRC_CLOCK |= CRC_CLOCK_ENABLE;
  (void)CRC_CLOCK; /* the clock is on behind this read */
  CRC->CR = CRC_CR_RESET | OPTIONS;
}

uint32_t crc_unit_add(const uint32_t *words, uint32_t count) {
  const uint32_t *end = words + count;
#pragma GCC unroll 8
  while (words != end) CRC->DR = ordered(*words++);
  return ~ordered(CRC->DR);
}
