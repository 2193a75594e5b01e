/* Inputs of the application, in runs that the boards have begun (standalone.h). */
#ifndef OWN_INPUT_H
#define OWN_INPUT_H

#include <stdbool.h>
#include <stdint.h>

/* For a new run. */
void own_input_reset(void);

/* Waits until all neighbours are in the run, an input is due and the application has it: in the arena, without a copy.
 * False when the run has ended before.
 */
bool own_input_take(void);

#ifdef STOP_MODE
/* Cycles of the counter until the application is asked for an input; all that there are where that depends on
 * interrupts. */
uint64_t own_input_left(void);
#endif

#endif
