/* A link to a neighbour: tensors cross it as DATA frames under a sliding window; knows no hardware.
 *
 * Frames are numbered on through all tensors of a direction from the reset of the link. So a repeated frame of the
 * last tensor, whose ACK was lost, is never taken for the first frame of the next one. An ACK acknowledges its frame
 * and all before it; a NAK names the frame that is expected and acknowledges all before it. A receiver sends at most
 * one NAK for each frame that it takes, so that one error brings one repetition; the time-out of the sender does the
 * rest.
 *
 * A receiver that does not await the tensor yet, because its board computes, answers the first frame's header with
 * WAIT. Its sender is held then: it asks again with the first frame at every time-out, and as long as there is an
 * answer it does not give up. The NAK that link_receive sends lets it go on at once.
 *
 * All functions are to be called with the link's interrupts held off, or from them.
 */
#ifndef LINK_H
#define LINK_H

#include "frames.h"

enum {
  LINK_WINDOW = 8,      /* frames on their way */
  LINK_MAX_STALLS = 5,  /* repetitions without progress */
  LINK_TIMEOUT_MS = 100 /* of silence, beside the time of a window */
};

typedef struct {
  frame_receiver_t receiver;
  frame_transmitter_t transmitter;
  void (*wake)(void *port); /* makes the port fetch bytes from `transmitter` until there is none */
  void (*unexpected)(uint8_t tag);
  void *port;
  uint32_t timeout_ms;

  uint8_t reply_type; /* 0: none waits to be sent */
  uint8_t reply_tag;
  uint8_t reply_sequence;

  volatile uint8_t receiving; /* 1 from link_receive until the tensor is whole */
  uint8_t in_tag;
  uint8_t in_sequence; /* of the next frame */
  uint8_t in_refused;  /* a NAK has been sent since a frame was taken */
  uint8_t in_stored;   /* the frame under way goes to `in_data` */
  uint8_t in_waited;   /* a WAIT has been sent since the last tensor */
  uint8_t *in_data;
  uint32_t in_left; /* bytes */

  volatile uint8_t sending; /* 1 from link_send until the last ACK or failure */
  uint8_t released;         /* the receiver is ready: the next frame ends the wait */
  volatile uint8_t held;    /* 1 while sending and told to wait */
  volatile uint8_t flowing; /* 1 while sending and not held */
  uint8_t failed;
  uint8_t stalls;
  uint8_t repeats; /* of the tensor, for the records */
  uint8_t out_tag;
  uint8_t out_sequence; /* of the frame `out_base` */
  const uint8_t *out_data;
  uint32_t out_bytes;
  uint16_t out_frames;
  uint16_t out_base; /* first frame without ACK */
  uint16_t out_next; /* frame that leaves next; below `out_high` while frames are repeated */
  uint16_t out_high; /* first frame that has never left */
  uint32_t quiet_ms; /* since the last progress */
} link_t;

void link_begin(link_t *link, uint32_t baud, void *port, void (*wake)(void *port), void (*unexpected)(uint8_t tag));

/* Forgets both directions; a frame on its way out is cut off. */
void link_reset(link_t *link);

/* Awaits the tensor of the cut `tag`. */
void link_receive(link_t *link, uint8_t tag, uint8_t *data, uint32_t bytes);

/* Sends the tensor of the cut `tag`; `data` has to stay until `sending` is 0. */
void link_send(link_t *link, uint8_t tag, const uint8_t *data, uint32_t bytes);

/* To be called once a millisecond. */
void link_tick(link_t *link);

#endif
