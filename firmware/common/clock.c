#include "clock.h"

#include "device.h"

bool clock_ok;
uint32_t clock_core_hz;

void clock_begin(void) {
  clock_ok = clock_raise(&board_clock);
  clock_core_hz = clock_ok ? board_clock.core_hz : CLOCK_RESET_HZ;
}
