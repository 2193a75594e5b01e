/* The time records of an inference, one for each step (network_times). */
#ifndef TIMES_H
#define TIMES_H

#include <stdbool.h>
#include <stdint.h>

/* At the start of an inference. */
void times_clear(void);

/* Fills a record; ticks beyond 32 bits lose their lowest bits. */
void times_set(uint32_t record, uint64_t ticks, uint32_t repeats);

/* Set by the host until the next run: a core whose cycle counter stops in sleep does not sleep, and times_note_end
 * notes when a step has ended (network_ended).
 */
extern volatile bool times_keep_clock;
void times_note_end(uint32_t step);

#endif
