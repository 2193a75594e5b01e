#include "link_wire.h"

#include <stddef.h>
#include <string.h>

#include "crc32.h"

enum { HUNTING, IN_HEADER, IN_DATA, IN_NOTE, IN_CRC };
enum { WRITER_IDLE, WRITER_HEAD, WRITER_DATA, WRITER_TAIL };

/* Offset of the check in the header; the bytes before it but for the sync byte are checked. */
enum { CHECK_AT = 9, CHECKED_BYTES = CHECK_AT - 1 };

void link_put_u16(uint8_t *bytes, uint32_t value) {
  bytes[0] = (uint8_t)value;
  bytes[1] = (uint8_t)(value >> 8);
}

void link_put_u32(uint8_t *bytes, uint32_t value) {
  link_put_u16(bytes, value);
  link_put_u16(bytes + 2, value >> 16);
}

static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* CRC of a header. HELLO is understood by boards of any plan and run. */
static uint32_t header_crc(const uint8_t *raw, uint32_t seed) {
  return crc32(link_is_hello(raw[1]) ? 0 : seed, raw + 1, CHECKED_BYTES);
}

/* Parser */

void link_parser_reset(link_parser_t *parser) {
  parser->state = HUNTING;
  parser->filled = 0;
}

bool link_parser_is_hunting(const link_parser_t *parser) { return parser->state == HUNTING; }

uint32_t link_parser_left(const link_parser_t *parser) {
  if (link_parser_is_hunting(parser)) return 0;
  if (parser->state == IN_HEADER) return (uint32_t)LINK_HEADER_BYTES - parser->filled;
  return (uint32_t)parser->left + parser->segment + LINK_CRC_BYTES;
}

bool link_parser_end(link_parser_t *parser) {
  bool is_cut_off = parser->state > IN_HEADER;
  link_parser_reset(parser);
  return is_cut_off;
}

/* Begins again at the first sync byte of note[from..filled): after a lost byte the next frame begins in the last one.
 */
static void hunt_again(link_parser_t *parser, uint32_t from) {
  while (from < parser->filled && parser->note[from] != LINK_SYNC) from++;
  parser->filled = (uint8_t)(parser->filled - from);
  memmove(parser->note, parser->note + from, parser->filled);
  parser->state = parser->filled ? IN_HEADER : HUNTING;
}

void link_parser_reject(link_parser_t *parser) { hunt_again(parser, 1); }

static bool header_is_good(link_parser_t *parser) {
  const uint8_t *raw = parser->note;
  uint32_t crc = header_crc(raw, parser->seed);
  if ((crc & 0xFFFFu) != link_get_u16(raw + CHECK_AT)) return false;
  parser->header = (link_header_t){.type = raw[1],
                                   .addresses = raw[2],
                                   .channel = raw[3],
                                   .number = raw[4],
                                   .offset = link_get_u16(raw + 5),
                                   .length = link_get_u16(raw + 7)};
  parser->crc = ~crc;
  parser->header_crc = ~crc;
  return true;
}

static void begin_note(link_parser_t *parser, uint32_t needed) {
  parser->filled = 0;
  parser->needed = (uint8_t)needed;
  parser->state = needed ? IN_NOTE : IN_CRC;
}

void link_parser_note(link_parser_t *parser) { begin_note(parser, parser->header.length); }

void link_parser_data(link_parser_t *parser) {
  parser->left = (uint16_t)link_data_bytes(&parser->header);
  parser->state = IN_DATA;
}

void link_parser_segment(link_parser_t *parser, uint8_t *destination, uint32_t bytes) {
  parser->destination = destination;
  parser->segment = (uint16_t)bytes;
  parser->left = (uint16_t)(parser->left - bytes);
}

static uint32_t parse_sync(link_parser_t *parser, const uint8_t *bytes, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (bytes[i] != LINK_SYNC) continue;
    parser->note[0] = LINK_SYNC;
    parser->filled = 1;
    parser->state = IN_HEADER;
    return i + 1;
  }
  return count;
}

static uint32_t parse_header(link_parser_t *parser, const uint8_t *bytes, uint32_t count, link_parsed_t *what) {
  uint32_t taken = smaller(count, (uint32_t)LINK_HEADER_BYTES - parser->filled);
  memcpy(parser->note + parser->filled, bytes, taken);
  parser->filled = (uint8_t)(parser->filled + taken);
  if (parser->filled == LINK_HEADER_BYTES) {
    if (header_is_good(parser)) {
      *what = LINK_PARSED_HEADER;
    } else {
      link_parser_reject(parser);
    }
  }
  return taken;
}

static uint32_t parse_data(link_parser_t *parser, const uint8_t *bytes, uint32_t count, link_parsed_t *what) {
  uint32_t taken = smaller(count, parser->segment);
  if (parser->destination) {
    parser->crc = crc32_copy(parser->crc, parser->destination, bytes, taken);
    parser->destination += taken;
  } else {
    parser->crc = ~crc32(~parser->crc, bytes, taken);
  }
  parser->segment = (uint16_t)(parser->segment - taken);
  if (parser->segment) return taken;
  if (parser->left) {
    *what = LINK_PARSED_SEGMENT;
  } else {
    parser->data_crc = parser->crc;
    begin_note(parser, parser->header.type == LINK_DATA_END ? LINK_CRC_BYTES : 0);
  }
  return taken;
}

static uint32_t parse_note(link_parser_t *parser, const uint8_t *bytes, uint32_t count) {
  uint32_t taken = smaller(count, (uint32_t)parser->needed - parser->filled);
  parser->crc = ~crc32(~parser->crc, bytes, taken);
  memcpy(parser->note + parser->filled, bytes, taken);
  parser->filled = (uint8_t)(parser->filled + taken);
  if (parser->filled == parser->needed) parser->state = IN_CRC;
  return taken;
}

static uint32_t parse_crc(link_parser_t *parser, const uint8_t *bytes, uint32_t count, link_parsed_t *what) {
  uint32_t taken = smaller(count, (uint32_t)parser->needed + LINK_CRC_BYTES - parser->filled);
  memcpy(parser->note + parser->filled, bytes, taken);
  parser->filled = (uint8_t)(parser->filled + taken);
  if (parser->filled < parser->needed + LINK_CRC_BYTES) return taken;
  if (link_get_u32(parser->note + parser->needed) == ~parser->crc) {
    link_parser_reset(parser);
    *what = LINK_PARSED_GOOD;
  } else {
    hunt_again(parser, parser->needed);
    *what = LINK_PARSED_DAMAGED;
  }
  return taken;
}

uint32_t link_parse(link_parser_t *parser, const uint8_t *bytes, uint32_t count, link_parsed_t *what) {
  *what = LINK_PARSED_NOTHING;
  switch (parser->state) {
    case IN_DATA: return parse_data(parser, bytes, count, what);
    case IN_NOTE: return parse_note(parser, bytes, count);
    case IN_CRC: return parse_crc(parser, bytes, count, what);
    case IN_HEADER: return parse_header(parser, bytes, count, what);
    default: return parse_sync(parser, bytes, count);
  }
}

/* Writer */

void link_writer_reset(link_writer_t *writer) { writer->state = WRITER_IDLE; }

bool link_writer_is_idle(const link_writer_t *writer) { return writer->state == WRITER_IDLE; }

static void write_header(link_writer_t *writer, const link_header_t *header, uint32_t seed) {
  uint8_t *raw = writer->note;
  raw[0] = LINK_SYNC;
  raw[1] = header->type;
  raw[2] = header->addresses;
  raw[3] = header->channel;
  raw[4] = header->number;
  link_put_u16(raw + 5, header->offset);
  link_put_u16(raw + 7, header->length);
  uint32_t crc = header_crc(raw, seed);
  link_put_u16(raw + CHECK_AT, crc);
  writer->crc = ~crc;
  writer->header_crc = ~crc;
  writer->type = header->type;
  writer->at = 0;
  writer->filled = LINK_HEADER_BYTES;
}

void link_write_note(link_writer_t *writer, const link_header_t *header, uint32_t seed) {
  write_header(writer, header, seed);
  uint8_t *note = link_writer_note(writer);
  if (header->length) {
    link_put_u32(note + header->length, crc32(~writer->crc, note, header->length));
    writer->filled = (uint8_t)(LINK_HEADER_BYTES + header->length + LINK_CRC_BYTES);
  }
  writer->state = WRITER_TAIL;
}

void link_write_data(link_writer_t *writer, const link_header_t *header, uint32_t seed, const uint8_t *data) {
  write_header(writer, header, seed);
  writer->data = data;
  writer->bytes = (uint16_t)link_data_bytes(header);
  writer->left = writer->bytes;
  writer->state = WRITER_HEAD;
}

void link_writer_close(link_writer_t *writer, uint32_t tensor_crc) {
  uint8_t *note = writer->note;
  writer->filled = 0;
  if (writer->type == LINK_DATA_END) {
    link_put_u32(note, tensor_crc);
    writer->crc = ~crc32(~writer->crc, note, LINK_CRC_BYTES);
    writer->filled = LINK_CRC_BYTES;
  }
  link_put_u32(note + writer->filled, ~writer->crc);
  writer->filled = (uint8_t)(writer->filled + LINK_CRC_BYTES);
  writer->at = 0;
  writer->state = WRITER_TAIL;
}

static uint32_t write_data(link_writer_t *writer, uint8_t *bytes, uint32_t room, link_written_t *what) {
  uint32_t written = smaller(room, writer->left);
  writer->crc = crc32_copy(writer->crc, bytes, writer->data, written);
  writer->data += written;
  writer->left = (uint16_t)(writer->left - written);
  if (writer->left == 0) *what = LINK_WRITTEN_DATA;
  return written;
}

uint32_t link_write(link_writer_t *writer, uint8_t *bytes, uint32_t room, link_written_t *what) {
  *what = LINK_WRITTEN_NOTHING;
  if (writer->state == WRITER_DATA) return write_data(writer, bytes, room, what);
  uint32_t written = smaller(room, (uint32_t)writer->filled - writer->at);
  memcpy(bytes, writer->note + writer->at, written);
  writer->at = (uint8_t)(writer->at + written);
  if (writer->at < writer->filled) return written;
  if (writer->state == WRITER_HEAD) {
    writer->state = WRITER_DATA;
  } else {
    writer->state = WRITER_IDLE;
    *what = LINK_WRITTEN_FRAME;
  }
  return written;
}
