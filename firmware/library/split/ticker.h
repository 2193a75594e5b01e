/* In a library: the milliseconds that the port's clock has told (port.c). */
#ifndef TICKER_H
#define TICKER_H

#include <stdint.h>

extern volatile uint32_t ticker_ms;

static inline void ticker_start(void) {}
static inline uint32_t ticker_left(void) { return 0; }

#endif
