/* In a library nothing measures times. */
#ifndef TIMES_H
#define TIMES_H

#include <stdbool.h>
#include <stdint.h>

static inline void times_set(uint32_t record, uint64_t ticks, uint32_t repeats) {
  (void)record;
  (void)ticks;
  (void)repeats;
}

extern volatile bool times_keep_clock;
extern volatile uint32_t times_link_ticks;

#endif
