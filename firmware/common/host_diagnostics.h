/* The requests that only measuring needs: times of the steps, the clock, and how much of the stack was used.
 *
 * In programs without diagnostics, these functions are absent.
 */
#ifndef HOST_DIAGNOSTICS_H
#define HOST_DIAGNOSTICS_H

#include <stdbool.h>
#include <stdint.h>

#include "frames.h"

/* Replies to READ_TIMES, READ_CLOCK or READ_STAMPS with this payload; false if it asks for what there is not. */
bool host_diagnostics_obey(const frame_header_t *header, const uint8_t *request) __attribute__((weak));

/* Replies with the bytes of the stack, and the most of them that were used. */
void host_diagnostics_send_stack(const frame_header_t *to) __attribute__((weak));

#endif
