/* Frames of links (docs/protocol.md, "Frames of links"): parser and writer, for spans of bytes. */
#ifndef LINK_WIRE_H
#define LINK_WIRE_H

#include <stdbool.h>
#include <stdint.h>

enum {
  LINK_SYNC = 0xA5,
  LINK_HEADER_BYTES = 11,
  LINK_CRC_BYTES = 4,
  LINK_BLOCK_BYTES = 64,
  LINK_MAX_PAYLOAD = 2048, /* of a tensor in one frame */
  LINK_NOTE_BYTES = 36     /* payload of a frame without data, at most */
};

enum {
  LINK_DATA = 0x40,
  LINK_DATA_END = 0x41,
  LINK_GRANT = 0x42,
  LINK_OFFER = 0x43,
  LINK_WAIT = 0x44,
  LINK_ACK = 0x45,
  LINK_MISSING = 0x46,
  LINK_DAMAGED = 0x47,
  LINK_QUERY = 0x48,
  LINK_HELLO = 0x49,
  LINK_HELLO_REPLY = 0x4A,
  LINK_CONFIRM = 0x4B
};

typedef struct {
  uint8_t type;
  uint8_t addresses;
  uint8_t channel;
  uint8_t number;
  uint16_t offset; /* in blocks */
  uint16_t length; /* of the payload, with the tensor's CRC of DATA_END */
} link_header_t;

typedef struct {
  link_header_t header;
  uint32_t crc;         /* register */
  uint32_t header_crc;  /* register behind the header */
  uint32_t data_crc;    /* register behind the tensor's bytes */
  uint8_t *destination; /* of the segment; NULL: discarded */
  uint16_t segment;     /* bytes until the destination changes */
  uint16_t left;        /* bytes of the tensor in the payload, behind the segment */
  uint8_t state;
  uint8_t filled;                /* bytes in `note` */
  uint8_t note[LINK_NOTE_BYTES]; /* header, then payload without data or CRCs */
} link_parser_t;

typedef struct {
  const uint8_t *data; /* next byte of the tensor */
  uint32_t crc;        /* register */
  uint32_t header_crc; /* register behind the header */
  uint16_t left;       /* bytes of `data` */
  uint8_t state;
  uint8_t at;     /* next byte of `note` */
  uint8_t filled; /* bytes in `note` */
  uint8_t type;
  uint8_t channel;               /* index */
  uint8_t note[LINK_NOTE_BYTES]; /* header, then the rest */
} link_writer_t;

#endif
