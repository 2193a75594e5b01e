/* The bytes that leave for the host, whatever the protocol: of frames (host_queue.c) or of text (text_out.c). */
#ifndef HOST_BYTES_H
#define HOST_BYTES_H

#include <stdbool.h>
#include <stdint.h>

/* Fetches the next byte to send; false when there is none. */
bool host_bytes_next(uint8_t *byte);

#endif
