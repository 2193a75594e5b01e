/* The time records of an inference, one for each step (network_times). */
#ifndef TIMES_H
#define TIMES_H

#include <stdint.h>

/* At the start of an inference. */
void times_clear(void);

/* Fills a record; ticks beyond 32 bits lose their lowest bits. */
void times_set(uint32_t record, uint64_t ticks, uint32_t repeats);

#endif
