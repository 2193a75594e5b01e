/* Sends frames to the host: replies to requests, and events. */
#ifndef HOST_SEND_H
#define HOST_SEND_H

#include <stdint.h>

#include "host_queue.h"

/* A frame whose payload is two words. */
host_frame_t host_two_words(uint8_t type, uint8_t sequence, uint32_t first, uint32_t second);

/* Sends a frame when those before it have left; its payload must stay valid until then. */
void host_send(const host_frame_t *outgoing);

void host_send_reply(const frame_header_t *to, const void *payload, uint32_t length);
void host_send_error(uint8_t sequence, uint8_t code, uint32_t detail);

/* Why a request is not obeyed. */
void host_send_refusal(const frame_header_t *to, uint8_t code);

#endif
