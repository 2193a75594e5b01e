/* Frames of links (docs/understand/protocol.md, "Frames of links"): parser and writer of spans of bytes. */
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
  LINK_MAX_UNITS = 16,     /* of DAMAGED */
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
  uint8_t addresses; /* destination << 4 | source */
  uint8_t channel;
  uint8_t number;
  uint16_t offset; /* in blocks */
  uint16_t length; /* of the payload, with the tensor's CRC of DATA_END */
} link_header_t;

static inline bool link_is_data(uint8_t type) { return type == LINK_DATA || type == LINK_DATA_END; }
static inline bool link_is_hello(uint8_t type) { return type == LINK_HELLO || type == LINK_HELLO_REPLY; }

/* Bytes of the tensor in the payload of a data frame. */
static inline uint32_t link_data_bytes(const link_header_t *header) {
  return header->length - (header->type == LINK_DATA_END ? (uint32_t)LINK_CRC_BYTES : 0u);
}

static inline uint16_t link_get_u16(const uint8_t *bytes) { return (uint16_t)(bytes[0] | bytes[1] << 8); }
static inline uint32_t link_get_u32(const uint8_t *bytes) {
  return link_get_u16(bytes) | (uint32_t)link_get_u16(bytes + 2) << 16;
}
void link_put_u16(uint8_t *bytes, uint32_t value);
void link_put_u32(uint8_t *bytes, uint32_t value);

/* Parser */

typedef enum {
  LINK_PARSED_NOTHING,
  LINK_PARSED_HEADER,  /* `header` is good: call link_parser_note, _data or _reject, unless its length is 0 */
  LINK_PARSED_SEGMENT, /* the segment is full: call link_parser_segment */
  LINK_PARSED_GOOD,    /* the frame has ended; its note is in `note` */
  LINK_PARSED_DAMAGED
} link_parsed_t;

typedef struct {
  link_header_t header;
  uint32_t seed;        /* CRC that frames begin with, but for HELLO */
  uint32_t crc;         /* register */
  uint32_t header_crc;  /* register behind the header */
  uint32_t data_crc;    /* register behind the tensor's bytes */
  uint8_t *destination; /* of the segment; NULL: discarded */
  uint16_t segment;     /* bytes until the destination changes */
  uint16_t left;        /* bytes of the tensor that follow in this frame */
  uint8_t state;
  uint8_t filled; /* bytes in `note` */
  uint8_t needed; /* bytes of the payload that go to `note` */
  uint8_t note[LINK_NOTE_BYTES + LINK_CRC_BYTES]; /* the header, then payload that is no data, and CRC */
} link_parser_t;

void link_parser_reset(link_parser_t *parser);

/* Takes bytes until something happens; returns their number. */
uint32_t link_parse(link_parser_t *parser, const uint8_t *bytes, uint32_t count, link_parsed_t *what);

/* After LINK_PARSED_HEADER: the header makes no sense, or the payload is a note, or data. */
void link_parser_reject(link_parser_t *parser);
void link_parser_note(link_parser_t *parser);
void link_parser_data(link_parser_t *parser);

/* Where the next `bytes` of data go. */
void link_parser_segment(link_parser_t *parser, uint8_t *destination, uint32_t bytes);

bool link_parser_is_hunting(const link_parser_t *parser);

/* Bytes until the frame under way, or its header, ends, a few more at its end; 0: none is under way. */
uint32_t link_parser_left(const link_parser_t *parser);

/* The line is silent: true if a frame with a good header is cut off by that. */
bool link_parser_end(link_parser_t *parser);

/* Writer */

typedef enum {
  LINK_WRITTEN_NOTHING,
  LINK_WRITTEN_DATA, /* call link_writer_close */
  LINK_WRITTEN_FRAME
} link_written_t;

typedef struct {
  const uint8_t *data; /* next byte of the tensor */
  uint32_t crc;        /* register */
  uint32_t header_crc; /* register behind the header */
  uint16_t bytes;      /* of the tensor in this frame */
  uint16_t left;       /* of them still to be written */
  uint8_t state;
  uint8_t at;     /* next byte of `note` */
  uint8_t filled; /* bytes in `note` */
  uint8_t type;
  uint8_t note[LINK_HEADER_BYTES + LINK_NOTE_BYTES + LINK_CRC_BYTES]; /* header, note and CRC */
} link_writer_t;

void link_writer_reset(link_writer_t *writer);
bool link_writer_is_idle(const link_writer_t *writer);

/* Where the note of the next frame without data is to be put together before link_write_note. */
static inline uint8_t *link_writer_note(link_writer_t *writer) { return writer->note + LINK_HEADER_BYTES; }

/* Begin a frame; the length of the note is that of the header. */
void link_write_note(link_writer_t *writer, const link_header_t *header, uint32_t seed);
void link_write_data(link_writer_t *writer, const link_header_t *header, uint32_t seed, const uint8_t *data);

/* Ends a data frame; DATA_END with the tensor's CRC. */
void link_writer_close(link_writer_t *writer, uint32_t tensor_crc);

/* Writes bytes until something happens; returns their number. */
uint32_t link_write(link_writer_t *writer, uint8_t *bytes, uint32_t room, link_written_t *what);

#endif
