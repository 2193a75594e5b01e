/* One end of a link, told on stdin what to do; whatever it sends goes to stdout as one line a frame.
 *
 * "send TAG BYTES", "receive TAG BYTES", "frame TYPE TAG SEQUENCE LENGTH GOOD" (arrives; with a wrong CRC if GOOD is 0),
 * "tick N" (milliseconds), "state". Frames leave after every line.
 */
#include <stdio.h>
#include <string.h>

#include "link.h"

enum { BAUD = 115200, LARGEST = 65536 };

static link_t end;
static frame_receiver_t line; /* reads what `end` sends */
static uint8_t from[LARGEST], to[LARGEST], ignored[FRAME_MAX_PAYLOAD];

static void wake(void *port) { (void)port; }

static void unexpected(uint8_t tag) { printf("unexpected %u\n", tag); }

static uint8_t *begin_frame(void *owner, const frame_header_t *header) {
  (void)owner;
  (void)header;
  return ignored;
}

static void end_frame(void *owner, const frame_header_t *header, bool crc_good) {
  (void)owner;
  printf("%02x %u %u %u%s\n", header->type, header->tag, header->sequence, header->length, crc_good ? "" : " bad");
}

static void leave(void) {
  uint8_t byte;
  while (frame_next_byte(&end.transmitter, &byte)) frame_receive(&line, byte);
}

static void arrive(uint8_t type, uint8_t tag, uint8_t sequence, uint16_t length, bool good) {
  static const uint8_t payload[FRAME_MAX_PAYLOAD];
  static frame_transmitter_t source;
  frame_header_t header = {.type = type, .tag = tag, .sequence = sequence, .length = length};
  frame_transmit(&source, &header, payload);
  uint8_t byte, before = 0;
  bool has_before = false;
  while (frame_next_byte(&source, &byte)) {
    if (has_before) frame_receive(&end.receiver, before);
    before = byte;
    has_before = true;
  }
  frame_receive(&end.receiver, good ? before : (uint8_t)(before ^ 1));
}

int main(void) {
  char words[64];
  unsigned a, b, c, d, e;
  link_begin(&end, BAUD, NULL, wake, unexpected);
  frame_receiver_begin(&line, NULL, begin_frame, end_frame);
  while (fgets(words, sizeof words, stdin)) {
    if (sscanf(words, "send %u %u", &a, &b) == 2) {
      link_send(&end, (uint8_t)a, from, b);
    } else if (sscanf(words, "receive %u %u", &a, &b) == 2) {
      link_receive(&end, (uint8_t)a, to, b);
    } else if (sscanf(words, "frame %x %u %u %u %u", &a, &b, &c, &d, &e) == 5) {
      arrive((uint8_t)a, (uint8_t)b, (uint8_t)c, (uint16_t)d, e != 0);
    } else if (sscanf(words, "tick %u", &a) == 1) {
      for (; a > 0; a--) link_tick(&end);
    } else if (strncmp(words, "state", 5) == 0) {
      printf("%s %s\n", end.sending ? "sending" : "idle", end.receiving ? "receiving" : "done");
    } else {
      return 2;
    }
    leave();
  }
  return 0;
}
