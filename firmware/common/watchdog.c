#include "watchdog.h"

#include "clock_source.h"

#define START 0xCCCCu
#define UNLOCK 0x5555u
#define DIVIDE_BY_256 6u
#define TICKS_PER_SECOND (LSI_HZ / 256u)
#define LARGEST_RELOAD 0xFFFu

void watchdog_begin(uint32_t ms) {
  if (ms == 0) return;
  uint32_t reload = ms * TICKS_PER_SECOND / 1000u + 1u;
  WATCHDOG->KR = START; /* starts its oscillator, too */
  WATCHDOG->KR = UNLOCK;
  WATCHDOG->PR = DIVIDE_BY_256;
  WATCHDOG->RLR = reload < LARGEST_RELOAD ? reload : LARGEST_RELOAD;
  watchdog_refresh();
}
