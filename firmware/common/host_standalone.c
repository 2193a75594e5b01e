/* What a board that runs without a host has done: a host may ask at any time. */
#include "host_send.h"
#include "requests.h"
#include "standalone.h"

static void identify_standalone(const frame_header_t *header, const uint8_t *head) {
  (void)head;
  host_send_reply(header, &standalone_counters, sizeof standalone_counters);
}

REQUESTS table[] = {{FRAME_IDENTIFY, IDENTIFY_STANDALONE, 0, 1, identify_standalone, NULL}};
