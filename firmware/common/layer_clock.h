/* The clock of layers: the cycle counter, without the time that interrupts of links take. */
#ifndef LAYER_CLOCK_H
#define LAYER_CLOCK_H

#include "cycle_counter.h"
#include "times.h"

/* 32 bits, which wrap around. */
static inline uint32_t layer_clock_low(void) {
  uint32_t links;
  uint32_t low;
  do {
    links = times_link_ticks;
    low = cycle_counter_low();
  } while (links != times_link_ticks);
  return low - links;
}

#endif
