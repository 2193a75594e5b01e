/* The run of a library: without the firmware's list of tasks, and with waits that may return (run_wait.c). */
#ifndef LIBRARY_RUN_H
#define LIBRARY_RUN_H

#define RUN_TASK static const __attribute__((unused)) run_task_t
#define RUN_IS_STEPWISE 1
#include "run_state.h"

/* Set while the program lets the library wait. */
extern bool run_blocks;

static inline bool run_may_block(void) { return run_blocks; }

#endif
