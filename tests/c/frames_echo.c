/* Sends every frame that it finds on stdin back on stdout, by the firmware's own receiver and transmitter. */
#include <stdio.h>

#include "frames.h"

static uint8_t payload[FRAME_MAX_PAYLOAD];

static uint8_t *begin(void *owner, const frame_header_t *header) {
  (void)owner;
  (void)header;
  return payload;
}

static uint8_t *go_on(void *owner, const frame_header_t *header) { return begin(owner, header) + FRAME_HEAD_BYTES; }

static void end(void *owner, const frame_header_t *header, bool crc_good) {
  frame_transmitter_t transmitter = {0};
  uint8_t byte;
  (void)owner;
  if (!crc_good) return;
  frame_transmit(&transmitter, header, payload);
  while (frame_next_byte(&transmitter, &byte)) putchar(byte);
}

int main(void) {
  static frame_receiver_t receiver;
  int byte;
  frame_receiver_begin(&receiver, NULL, begin, go_on, end);
  while ((byte = getchar()) != EOF) frame_receive(&receiver, (uint8_t)byte);
  return 0;
}
