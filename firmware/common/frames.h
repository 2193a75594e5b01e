/* Receiver and transmitter of frames (docs/understand/protocol.md), byte by byte and independent of hardware. */
#ifndef FRAMES_H
#define FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  FRAME_SYNC = 0xA5,
  FRAME_HEADER_BYTES = 6,
  FRAME_OVERHEAD_BYTES = 8,
  FRAME_MAX_PAYLOAD = 1024,
  FRAME_HEAD_BYTES = 8, /* of a payload, which may go to another place than the rest */
  FRAME_QUIET_MS = 50,  /* a pause of this length inside a frame discards it */
};

enum {
  FRAME_IDENTIFY = 0x01,
  FRAME_RESET = 0x02,
  FRAME_LOAD = 0x03,
  FRAME_START = 0x04,
  FRAME_READ_OUTPUT = 0x05,
  FRAME_READ_TIMES = 0x06,
  FRAME_STOP = 0x07,
  FRAME_CHECK = 0x08,
  FRAME_REBOOT = 0x09,
  FRAME_READ_CLOCK = 0x0A,
  FRAME_READ_STAMPS = 0x0B,
  FRAME_BEGIN_WEIGHTS = 0x0C,
  FRAME_WRITE_WEIGHTS = 0x0D,
  FRAME_COMMIT_WEIGHTS = 0x0E,
  FRAME_KEY = 0x0F,
  FRAME_REPEAT = 0x10,
  FRAME_REPLY = 0x80, /* added to the type of a request */
  FRAME_DONE = 0xE0,
  FRAME_TAKEN = 0xE1,
  FRAME_ERROR = 0xEE,
};

typedef struct {
  uint8_t type;
  uint8_t tag;
  uint8_t sequence;
  uint16_t length;
} frame_header_t;

typedef struct {
  /* Return the destination of the payload's first FRAME_HEAD_BYTES, and, when these have come, of the rest; NULL to
   * discard it. */
  uint8_t *(*begin)(void *owner, const frame_header_t *header);
  uint8_t *(*go_on)(void *owner, const frame_header_t *header);
  void (*end)(void *owner, const frame_header_t *header, bool crc_good);
  void *owner;
  uint8_t *destination;
  uint16_t remaining; /* bytes for `destination` */
  uint16_t rest;      /* bytes after them */
  uint16_t crc;
  uint8_t position;
  volatile uint8_t quiet_ms;
  frame_header_t header;
} frame_receiver_t;

typedef struct {
  bool (*next)(void *owner); /* starts the next frame, if there is one; may be NULL */
  void *owner;
  const uint8_t *payload;
  uint16_t remaining;
  uint16_t crc;
  uint8_t position;
  uint8_t header[FRAME_HEADER_BYTES];
} frame_transmitter_t;

/* Numbers in a payload, little endian and anywhere. */
static inline uint16_t frame_u16(const uint8_t *bytes) { return (uint16_t)(bytes[0] | bytes[1] << 8); }

static inline uint32_t frame_u32(const uint8_t *bytes) {
  return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

/* Updates CRC-16/CCITT-FALSE (polynomial 0x1021, not reflected) by a byte, without a table: 10 instructions, no
 * loads. */
static inline uint16_t frame_crc(uint16_t crc, uint8_t byte) {
  uint32_t x = ((uint32_t)crc >> 8) ^ byte;
  x ^= x >> 4;
  return (uint16_t)(((uint32_t)crc << 8) ^ (x << 12) ^ (x << 5) ^ x);
}

void frame_receiver_begin(frame_receiver_t *receiver, void *owner,
                          uint8_t *(*begin)(void *, const frame_header_t *),
                          uint8_t *(*go_on)(void *, const frame_header_t *),
                          void (*end)(void *, const frame_header_t *, bool));
void frame_receive(frame_receiver_t *receiver, uint8_t byte);

/* Whether a frame has begun and not ended. */
bool frame_receiver_is_busy(const frame_receiver_t *receiver);

/* Discards the frame that is being received. */
void frame_receiver_reset(frame_receiver_t *receiver);

/* To be called once a millisecond: discards a frame after FRAME_QUIET_MS without a byte. */
void frame_receiver_tick(frame_receiver_t *receiver);

/* `next` is called whenever a frame has been sent. */
void frame_transmitter_begin(frame_transmitter_t *transmitter, void *owner, bool (*next)(void *owner));

/* Starts a frame; `payload` must stay valid until the frame has been sent. */
void frame_transmit(frame_transmitter_t *transmitter, const frame_header_t *header, const uint8_t *payload);

/* Returns the next byte, starting the next frame if necessary; false when there is none. */
bool frame_next_byte(frame_transmitter_t *transmitter, uint8_t *byte);

/* Aborts the frame that is being sent. */
void frame_transmitter_reset(frame_transmitter_t *transmitter);

#endif
