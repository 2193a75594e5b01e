/* Passes on what the modules of a run tell the host (host_events.h) to MLPerf Tiny's protocol, which goes on. */
#ifndef MLPERF_EVENTS_H
#define MLPERF_EVENTS_H

#include <stdint.h>

typedef struct {
  void (*on_obeyed)(uint8_t code, uint32_t detail);
  void (*on_error)(uint8_t code, uint32_t detail);
  void (*on_corrupt)(uint32_t number);
  void (*on_done)(void);
} mlperf_events_t;

/* To be called before a run. */
void mlperf_events_begin(const mlperf_events_t *to);

/* Adds a line to the text that leaves for the host. */
void mlperf_send_error(uint8_t code, uint32_t detail);

#endif
