/* The results of MLPerf Tiny's protocol: the network's output, or its distance to the input. */
#ifndef MLPERF_RESULTS_H
#define MLPERF_RESULTS_H

#include <stdbool.h>

/* Sends those of the newest output; false if there is none. */
bool mlperf_results_send(void);

#endif
