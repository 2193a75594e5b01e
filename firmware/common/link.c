/* A link as a whole: its run, its bytes, its time. */
#include "link_awake.h"
#include "link_parts.h"

enum { PLAN_AND_RUN_BYTES = 8 };

void link_begin(link_t *link, const link_settings_t *settings) {
  *link = (link_t){.settings = settings, .state = LINK_STOPPED};
  link_forget(link);
  link_announce(link);
}

void link_join(link_t *link, uint32_t run) {
  uint8_t bytes[PLAN_AND_RUN_BYTES];
  link_put_u32(bytes, link->settings->identity->plan);
  link_put_u32(bytes + 4, run);
  link_forget(link);
  link->parser.seed = crc32(0, bytes, sizeof bytes);
  link->run = run;
  link->state = LINK_STARTING;
  link->counters = (link_counters_t){0};
  link->answers = LINK_SAY_HELLO;
  link_wake(link);
}

#ifdef STOP_MODE
void link_stay_awake(link_t *link) { link->awake_ms = LINK_AWAKE_MS - 1; }
#endif

/* Receiving */

static bool is_of_tensor(const link_header_t *header, uint32_t tensor_bytes) {
  if (header->length <= (header->type == LINK_DATA_END ? LINK_CRC_BYTES : 0)) return false;
  uint32_t bytes = link_data_bytes(header);
  uint32_t end = (uint32_t)header->offset * LINK_BLOCK_BYTES + bytes;
  return bytes <= LINK_MAX_PAYLOAD && (end == tensor_bytes || (end < tensor_bytes && bytes % LINK_BLOCK_BYTES == 0));
}

static bool note_fits(const link_header_t *header) {
  switch (header->type) {
    case LINK_MISSING: return header->length <= LINK_NOTE_BYTES;
    case LINK_DAMAGED: return header->length > 1 && header->length <= 1 + 2 * LINK_MAX_UNITS;
    case LINK_CONFIRM: return header->length == LINK_CONFIRM_BYTES;
    default: return header->length == 0;
  }
}

/* Types that the sender of a tensor uses. */
static bool is_to_receiver(uint8_t type) {
  return link_is_data(type) || type == LINK_OFFER || type == LINK_QUERY || type == LINK_CONFIRM;
}

/* Finds the channel; false if no board of this version, wired as planned, would send such a header. */
static bool makes_sense(link_t *link, const link_header_t *header) {
  link->hearing = LINK_NO_CHANNEL;
  if (link_is_hello(header->type)) return header->length > 0 && header->length <= LINK_NOTE_BYTES;
  const link_settings_t *settings = link->settings;
  if (link->state == LINK_STOPPED || header->type < LINK_DATA || header->type > LINK_CONFIRM) return false;
  if (header->addresses != (uint8_t)(settings->identity->board << 4 | settings->peer)) return false;
  link->hearing = link_index(link, header->channel, !is_to_receiver(header->type));
  if (link->hearing == LINK_NO_CHANNEL) return false;
  return link_is_data(header->type) ? is_of_tensor(header, link_plan(link, link->hearing)->bytes) : note_fits(header);
}

static void frame_received(link_t *link) {
  const link_header_t header = link->parser.header;
  uint8_t index = link->hearing;
  link_peer_heard(link);
  if (link_is_hello(header.type)) {
    link_peer_hello(link, link->parser.note);
  } else if (link_is_data(header.type)) {
    link_in_end_frame(link, true);
  } else if (is_to_receiver(header.type)) {
    link_in_note(link, index, &header, link->parser.note);
  } else {
    link_out_note(link, index, &header, link->parser.note);
  }
}

static void header_received(link_t *link) {
  link_parser_t *parser = &link->parser;
  if (!makes_sense(link, &parser->header)) {
    link_parser_reject(parser);
  } else if (parser->header.length == 0) {
    link_parser_reset(parser);
    frame_received(link);
  } else if (link_is_data(parser->header.type)) {
    link_in_begin_frame(link);
  } else {
    link_parser_note(parser);
  }
}

void link_receive_bytes(link_t *link, const uint8_t *bytes, uint32_t count) {
  if (count) link->quiet_ms = 0;
  if (count) link_awake_heard(link);
  while (count) {
    link_parsed_t what;
    uint32_t taken = link_parse(&link->parser, bytes, count, &what);
    bytes += taken;
    count -= taken;
    switch (what) {
      case LINK_PARSED_HEADER: header_received(link); break;
      case LINK_PARSED_SEGMENT: link_in_next_segment(link); break;
      case LINK_PARSED_GOOD: frame_received(link); break;
      case LINK_PARSED_DAMAGED: link_in_damaged(link); break;
      default: break;
    }
  }
}
