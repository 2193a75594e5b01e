/* The steps of the board, taken one by one, and the runs that they belong to: what schedule.c and standalone.c are in the
 * firmware.
 */
#ifndef STEPS_H
#define STEPS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum {
  STEPS_WAIT,    /* for a neighbour, or for an input */
  STEPS_GO_ON,   /* there is more to do at once */
  STEPS_HAVE_RUN /* the same, and a layer has run, or an inference has ended */
} steps_progress_t;

/* What happens meanwhile: fills the input at `to` if there is one; takes the output; why a run has ended. */
typedef struct {
  bool (*input)(void *to);
  void (*output)(const void *from);
  void (*failure)(uint8_t code, uint32_t detail);
} steps_events_t;

/* `seed` tells this start from others. */
void steps_begin(const steps_events_t *events, uint32_t seed);

/* Ends or begins a run, or takes the next step. */
steps_progress_t steps_go_on(void);

/* Inferences that have ended since the start, with and without an output at this board. */
extern uint32_t steps_inferences;

#endif
