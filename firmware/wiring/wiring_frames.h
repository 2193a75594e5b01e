/* Frames of the wiring test, in place of link.c: they leave on all links at once, and those that arrive are counted. */
#ifndef WIRING_FRAMES_H
#define WIRING_FRAMES_H

#include <stdint.h>

enum { WIRING_MOST_LINKS = 4 };

typedef struct {
  uint32_t good; /* frames */
  uint32_t damaged;
  uint32_t line_errors;
  uint32_t bit_errors; /* in the payloads of damaged frames */
  uint8_t board; /* index of the sender of the last good frame */
  uint8_t link;  /* and of its link */
  uint8_t unused[2];
} wiring_count_t;

/* By the indices of the links; counted by their interrupts. */
extern wiring_count_t wiring_counts[];
extern volatile uint32_t wiring_frames_left[]; /* to send */
extern uint32_t wiring_frame_bytes;            /* payload of a frame, at most LINK_MAX_PAYLOAD */

void wiring_frames_begin(void);

#endif
