/* The time records of an inference, one for each step (network_times). */
#ifndef TIMES_H
#define TIMES_H

#include <stdbool.h>
#include <stdint.h>

/* At the start of an inference. */
void times_clear(void);

/* Fills a record; ticks beyond 32 bits lose their lowest bits. */
void times_set(uint32_t record, uint64_t ticks, uint32_t repeats);

/* Set by the host until the next run: times_note_end notes when a step has ended (network_ended), and what of its time
 * the links have taken (network_link_ticks).
 */
extern volatile bool times_keep_clock;

/* Ticks that links have taken in interrupts, with those of the millisecond while they are busy: no time of the layers
 * that they interrupt; they wrap around.
 */
extern volatile uint32_t times_link_ticks;

void times_note_end(uint32_t step);

#endif
