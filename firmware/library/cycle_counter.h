/* In a library nothing measures times: fused layers find a counter that stands still. */
#ifndef CYCLE_COUNTER_H
#define CYCLE_COUNTER_H

#include <stdint.h>

static inline uint32_t cycle_counter_low(void) { return 0; }

#endif
