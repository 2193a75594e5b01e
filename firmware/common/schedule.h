/* Takes the board's steps in their order: await a tensor, run a layer, pass a tensor on. */
#ifndef SCHEDULE_H
#define SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

enum {
  SCHEDULE_STOPPED, /* after power-up, STOP or an error: links are deaf and mute until RESET */
  SCHEDULE_AT_REST, /* before the first step: START or the first tensor is awaited */
  SCHEDULE_RUNNING,
};

extern volatile uint8_t schedule_state;
extern volatile bool schedule_has_output;

/* Ticks of the layer that runs that its record leaves out, since they belong to another one which runs in its step. */
extern uint32_t schedule_apart_ticks;

_Noreturn void schedule_run(void);

/* From the host's interrupt: begins a run; false when the schedule is not at rest. */
bool schedule_start(void);

/* From the host's interrupt: FRAME_RESET or FRAME_STOP, obeyed and answered between two layers or while waiting. */
void schedule_command(uint8_t type, uint8_t sequence);

#endif
