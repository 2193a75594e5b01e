/* What fused layers expect of the firmware's schedule, defined in tinysplit.c. */
#ifndef SCHEDULE_H
#define SCHEDULE_H

#include <stdint.h>

extern uint64_t schedule_excluded_ticks;

#endif
