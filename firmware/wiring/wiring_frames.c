#include "wiring_frames.h"

#include "link_ports.h"
#include "link_wire.h"
#include "network.h"

enum { ADDRESS_MASK = 15 };

wiring_count_t wiring_counts[WIRING_MOST_LINKS];
volatile uint32_t wiring_frames_left[WIRING_MOST_LINKS];
uint32_t wiring_frame_bytes;

static uint32_t pattern[LINK_MAX_PAYLOAD / sizeof(uint32_t)];
static uint32_t arrived[WIRING_MOST_LINKS][LINK_MAX_PAYLOAD / sizeof(uint32_t)];

void wiring_frames_begin(void) {
  uint32_t random = 1;
  for (uint32_t i = 0; i < sizeof pattern / sizeof pattern[0]; i++) {
    random ^= random << 13; /* Marsaglia's xorshift */
    random ^= random >> 17;
    random ^= random << 5;
    pattern[i] = random;
  }
}

static uint32_t index_of(const link_t *link) { return (uint32_t)(link - board_links); }

static bool begin_frame(link_t *link) {
  uint32_t index = index_of(link);
  if (wiring_frames_left[index] == 0) return false;
  link_header_t header = {.type = LINK_DATA,
                          .addresses = network_board_index,
                          .channel = (uint8_t)index,
                          .number = (uint8_t)wiring_frames_left[index],
                          .length = (uint16_t)wiring_frame_bytes};
  wiring_frames_left[index]--;
  link_write_data(&link->writer, &header, network_project_hash, (const uint8_t *)pattern);
  return true;
}

uint32_t link_fill(link_t *link, uint8_t *bytes, uint32_t room) {
  uint32_t filled = 0;
  while (filled < room && (!link_writer_is_idle(&link->writer) || begin_frame(link))) {
    link_written_t what;
    filled += link_write(&link->writer, bytes + filled, room - filled, &what);
    if (what == LINK_WRITTEN_DATA) link_writer_close(&link->writer, 0);
  }
  return filled;
}

/* Frames are checked as they arrive. */
bool link_work(link_t *link) {
  (void)link;
  return false;
}

static void take_header(link_t *link) {
  link_parser_t *parser = &link->parser;
  uint32_t bytes = parser->header.length;
  if (parser->header.type == LINK_DATA && bytes > 0 && bytes <= sizeof pattern) {
    link_parser_data(parser);
    link_parser_segment(parser, (uint8_t *)arrived[index_of(link)], bytes);
  } else {
    link_parser_reject(parser);
  }
}

static void count_good(const link_t *link) {
  wiring_count_t *count = &wiring_counts[index_of(link)];
  count->good++;
  count->board = link->parser.header.addresses & ADDRESS_MASK;
  count->link = link->parser.header.channel;
}

static void count_damaged(const link_t *link) {
  wiring_count_t *count = &wiring_counts[index_of(link)];
  const uint32_t *words = arrived[index_of(link)];
  count->damaged++;
  for (uint32_t i = 0; i < wiring_frame_bytes / sizeof(uint32_t); i++) {
    for (uint32_t bits = words[i] ^ pattern[i]; bits; bits &= bits - 1u) count->bit_errors++;
  }
}

void link_receive_bytes(link_t *link, const uint8_t *bytes, uint32_t count) {
  while (count) {
    link_parsed_t what;
    uint32_t taken = link_parse(&link->parser, bytes, count, &what);
    bytes += taken;
    count -= taken;
    if (what == LINK_PARSED_HEADER) take_header(link);
    if (what == LINK_PARSED_GOOD) count_good(link);
    if (what == LINK_PARSED_DAMAGED) count_damaged(link);
  }
}
