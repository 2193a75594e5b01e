#include "clock_source.h"

#define CLOCK_POLLS 100000u /* PLLs and regulators are ready in some 100 microseconds, crystals in milliseconds */

bool clock_wait(const volatile uint32_t *status, uint32_t mask, uint32_t value) {
  for (uint32_t polls = CLOCK_POLLS; polls; polls--) {
    if ((*status & mask) == value) return true;
  }
  return false;
}

static uint32_t field(uint32_t divider, uint32_t of_two) {
  uint32_t value = 0;
  for (; divider > 1; divider /= 2) value = value ? value + 1 : of_two;
  return value;
}

uint32_t clock_apb_field(uint32_t divider) { return field(divider, 4); }

uint32_t clock_ahb_field(uint32_t divider) { return field(divider, 8); }
