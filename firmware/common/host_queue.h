/* Frames that wait to leave for the host, one after the other. */
#ifndef HOST_QUEUE_H
#define HOST_QUEUE_H

#include <stdint.h>

#include "frames.h"

enum { HOST_EVENT_BYTES = 8 };

typedef struct {
  frame_header_t header;
  const void *payload; /* NULL: in `words`; must stay valid until the frame has left */
  uint32_t words[HOST_EVENT_BYTES / 4];
} host_frame_t;

void host_queue_begin(void);

/* To be called with interrupts masked. A frame that finds no place is lost, as on a wire. */
void host_queue_add(const host_frame_t *frame);

#endif
