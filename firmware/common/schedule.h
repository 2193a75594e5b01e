/* Executes the board's steps in their order: receives a tensor, runs a layer, sends a tensor. */
#ifndef SCHEDULE_H
#define SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

enum {
  SCHEDULE_STOPPED, /* after power-up, STOP or an error: links neither receive nor send until RESET */
  SCHEDULE_AT_REST, /* before the first step: waits for START or for the first tensor */
  SCHEDULE_RUNNING,
};

extern volatile uint8_t schedule_state;
extern volatile bool schedule_has_output;

/* Ticks that the record of the running layer leaves out: those of a fused layer that runs in the same step. */
extern uint32_t schedule_excluded_ticks;

_Noreturn void schedule_run(void);

/* From the host's interrupt: begins a run; false when the schedule is not at rest. */
bool schedule_start(void);

/* From the host's interrupt: FRAME_RESET or FRAME_STOP, executed between two layers or while waiting. */
void schedule_command(uint8_t type, uint8_t sequence);

/* Events, defined by the module that uses the schedule (host.c). */

/* The network's output is complete. */
void schedule_on_done(void);

/* The neighbour did not acknowledge the tensor of a cut; the schedule has stopped. */
void schedule_on_link_timeout(uint16_t cut);

/* FRAME_RESET or FRAME_STOP has been executed. */
void schedule_on_command(uint8_t type, uint8_t sequence);

#endif
