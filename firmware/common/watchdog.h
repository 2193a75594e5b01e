/* The independent watchdog (IWDG): resets the board when nobody has refreshed it for too long. */
#ifndef WATCHDOG_H
#define WATCHDOG_H

#include "device.h"

#define WATCHDOG_REFRESH 0xAAAAu

/* Starts it for ever, with a time-out of `ms` up to 32 s by its own oscillator; 0: not at all. */
void watchdog_begin(uint32_t ms);

static inline void watchdog_refresh(void) { WATCHDOG->KR = WATCHDOG_REFRESH; }

#endif
