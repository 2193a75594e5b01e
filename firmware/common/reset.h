/* Why the board was reset, how often, and resetting it. */
#ifndef RESET_H
#define RESET_H

#include <stdint.h>

enum { RESET_UNKNOWN, RESET_POWER, RESET_PIN, RESET_WATCHDOG, RESET_SOFTWARE, RESET_BROWN_OUT };

extern uint8_t reset_cause;

/* Resets since power came, this one included. */
extern uint32_t reset_count;

/* Reads the flags of the last reset and clears them; to be called once. */
void reset_begin(void);

_Noreturn void reset_now(void);

#endif
