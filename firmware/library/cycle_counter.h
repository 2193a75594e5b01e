/* In a library nothing measures times: fused layers and links find a counter that stands still. */
#ifndef CYCLE_COUNTER_H
#define CYCLE_COUNTER_H

#include <stdint.h>

static inline uint32_t cycle_counter_low(void) { return 0; }
static inline uint64_t cycle_counter_now(void) { return 0; }
static inline uint32_t cycle_counter_hz(uint32_t core_hz) { return 0 * core_hz; }

#endif
