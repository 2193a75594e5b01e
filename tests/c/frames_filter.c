/* "decode": frames out of the bytes on stdin, one line each. "encode": requests on stdin (type, tag, sequence, length as
 * two bytes, payload) as frames on stdout.
 */
#include <stdio.h>
#include <string.h>

#include "frames.h"

static uint8_t payload[FRAME_MAX_PAYLOAD];

static uint8_t *begin(void *owner, const frame_header_t *header) {
  (void)owner;
  return header->type == 0xFF ? NULL : payload; /* type 0xFF is dropped, as a receiver may */
}

static uint8_t *go_on(void *owner, const frame_header_t *header) {
  uint8_t *head = begin(owner, header);
  return head ? head + FRAME_HEAD_BYTES : NULL;
}

static void end(void *owner, const frame_header_t *header, bool crc_good) {
  (void)owner;
  printf("%u %u %u %u %d ", header->type, header->tag, header->sequence, header->length, crc_good);
  for (uint16_t i = 0; header->type != 0xFF && i < header->length; i++) printf("%02x", payload[i]);
  printf("\n");
}

static int decode(void) {
  static frame_receiver_t receiver;
  frame_receiver_begin(&receiver, NULL, begin, go_on, end);
  for (int byte = getchar(); byte != EOF; byte = getchar()) frame_receive(&receiver, (uint8_t)byte);
  return 0;
}

static int encode(void) {
  static frame_transmitter_t transmitter;
  uint8_t head[5], byte;
  while (fread(head, 1, sizeof head, stdin) == sizeof head) {
    frame_header_t header = {.type = head[0], .tag = head[1], .sequence = head[2]};
    header.length = (uint16_t)(head[3] | head[4] << 8);
    if (fread(payload, 1, header.length, stdin) != header.length) return 1;
    frame_transmit(&transmitter, &header, payload);
    while (frame_next_byte(&transmitter, &byte)) putchar(byte);
  }
  return 0;
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "decode") == 0) return decode();
  if (argc == 2 && strcmp(argv[1], "encode") == 0) return encode();
  return 2;
}
