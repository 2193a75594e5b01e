/* In a library nothing measures layers. */
#ifndef LAYER_CLOCK_H
#define LAYER_CLOCK_H

#include <stdint.h>

static inline uint32_t layer_clock_low(void) { return 0; }

#endif
