/* Frames to the host: replies and events, one after the other. */
#ifndef HOST_SEND_H
#define HOST_SEND_H

#include <stdint.h>

#include "frames.h"

enum { HOST_EVENT_SEQUENCE = 0, HOST_EVENT_BYTES = 8 };

typedef struct {
  frame_header_t header;
  const void *payload; /* NULL: in `words` */
  uint32_t words[HOST_EVENT_BYTES / 4];
} host_frame_t;

void host_send_begin(void);

/* A frame whose payload is two words. */
host_frame_t host_two_words(uint8_t type, uint8_t sequence, uint32_t first, uint32_t second);

/* Sends a frame when those before it have left; its payload must stay valid until then. */
void host_send(const host_frame_t *outgoing);

void host_send_reply(const frame_header_t *to, const void *payload, uint32_t length);
void host_send_error(uint8_t sequence, uint8_t code, uint32_t detail);

#endif
