/* The request that asks which weights file is in flash. */
#include "host_send.h"
#include "requests.h"
#include "weights_file.h"

static void identify_weights(const frame_header_t *header, const uint8_t *head) {
  (void)head;
  uint32_t crc, counter;
  weights_file_identify(&crc, &counter);
  host_frame_t outgoing = host_two_words(FRAME_IDENTIFY | FRAME_REPLY, header->sequence, crc, counter);
  host_send(&outgoing);
}

REQUESTS table[] = {{FRAME_IDENTIFY, IDENTIFY_WEIGHTS, 0, 1, identify_weights, NULL}};
