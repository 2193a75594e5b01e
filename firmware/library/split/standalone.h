/* In a library: boards begin all runs themselves (steps.c). */
#ifndef STANDALONE_H
#define STANDALONE_H

#include <stdbool.h>
#include <stdint.h>

/* What the program has given to tell its starts apart. */
uint32_t standalone_boot_count(void);

static inline bool standalone_is_own(void) { return true; }

#endif
