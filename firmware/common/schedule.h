/* Executes the board's steps in their order, inference after inference: takes the input, receives a tensor, runs a
 * layer, sends a tensor, gives the output.
 */
#ifndef SCHEDULE_H
#define SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

/* Ticks that the record of the running layer leaves out: those of a fused layer that runs in the same step. */
extern uint64_t schedule_excluded_ticks;

_Noreturn void schedule_run(void);

/* Whether run `run` is under way, and nothing is to end it. */
bool schedule_is_in(uint32_t run);

/* From the host's interrupt: compares the flash with its checksum between two steps; the run goes on if it is right.
 * The host is told when that is done, as of RESET and STOP (run_request). */
void schedule_check(uint8_t sequence);

#endif
