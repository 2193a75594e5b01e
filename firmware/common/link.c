/* A link as a whole: its run, its bytes, its time. */
#include "link_parts.h"

enum { PLAN_AND_RUN_BYTES = 8 };

bool link_bit(const uint8_t *bits, uint32_t i) { return bits[i / 8u] & 1u << (i % 8u); }

void link_set_bit(uint8_t *bits, uint32_t i) { bits[i / 8u] = (uint8_t)(bits[i / 8u] | 1u << (i % 8u)); }

void link_clear_bit(uint8_t *bits, uint32_t i) { bits[i / 8u] = (uint8_t)(bits[i / 8u] & ~(1u << (i % 8u))); }

uint32_t link_find_bit(const uint8_t *bits, uint32_t from, uint32_t to) {
  while (from < to && !link_bit(bits, from)) from += from % 8u == 0 && bits[from / 8u] == 0 ? 8u : 1u;
  return link_smaller(from, to);
}

uint32_t link_ms_of(const link_t *link, uint32_t bytes) {
  return bytes * LINK_BITS_PER_BYTE * 1000u / link->settings->baud + 1u;
}

link_units_t link_units(uint32_t first_block, uint32_t blocks, uint32_t tensor_bytes) {
  uint32_t unit_blocks = blocks > LINK_MAX_UNITS ? 2 : 1;
  uint32_t at = first_block * LINK_BLOCK_BYTES;
  return (link_units_t){.at = at,
                        .bytes = link_smaller(blocks * LINK_BLOCK_BYTES, tensor_bytes - at),
                        .unit_bytes = unit_blocks * LINK_BLOCK_BYTES,
                        .count = (uint8_t)((blocks + unit_blocks - 1u) / unit_blocks)};
}

uint32_t link_unit_crc(const link_units_t *units, const uint8_t *tensor, uint8_t i) {
  uint32_t at = i * units->unit_bytes;
  return crc32(0, tensor + units->at + at, link_smaller(units->unit_bytes, units->bytes - at));
}

uint32_t link_unit_add(uint32_t crc, uint32_t unit_crc) {
  uint8_t bytes[4];
  link_put_u32(bytes, unit_crc);
  return crc32(crc, bytes, sizeof bytes);
}

uint8_t link_index(const link_t *link, uint8_t channel, bool is_out) {
  for (uint8_t i = 0; i < link->settings->channel_count; i++) {
    const link_channel_plan_t *plan = link_plan(link, i);
    if (plan->channel == channel && plan->is_out == is_out) return i;
  }
  return LINK_NO_CHANNEL;
}

link_channel_state_t link_channel_state(const link_t *link, uint8_t channel) {
  uint8_t in = link_index(link, channel, false);
  return link_at(link, in != LINK_NO_CHANNEL ? in : link_index(link, channel, true))->state;
}

/* Whatever makes a frame wait to leave comes here, so that channels are looked at only then. */
void link_wake(link_t *link) {
  link->may_speak = true;
  link->settings->wake(link->settings->port);
}

void link_say(link_t *link, link_channel_t *channel, uint8_t what) {
  channel->answers |= what;
  link_wake(link);
}

void link_tell(link_t *link, link_event_t event, uint8_t index, uint32_t detail) {
  uint8_t channel = index == LINK_NO_CHANNEL ? LINK_NO_CHANNEL : link_plan(link, index)->channel;
  link->settings->event(link, event, channel, detail);
}

/* Runs */

static void forget_everything(link_t *link) {
  link_parser_reset(&link->parser);
  link_writer_reset(&link->writer);
  for (uint8_t i = 0; i < link->settings->channel_count; i++) *link_at(link, i) = (link_channel_t){.state = LINK_IDLE};
  link->may_be_due = false;
  link->hello_ms = 0;
  link->hellos = 0;
  link->refusals = 0;
  link->is_joining = false;
  link->failure = LINK_NO_FAILURE;
  link->hearing = LINK_NO_CHANNEL;
  link->frame_blocks = LINK_MAX_BLOCKS;
  link->good_frames = 0;
  link->work.job = LINK_NO_JOB;
}

void link_begin(link_t *link, const link_settings_t *settings) {
  *link = (link_t){.settings = settings, .state = LINK_STOPPED};
  forget_everything(link);
  link_peer_announce(link);
}

void link_join(link_t *link, uint32_t run) {
  uint8_t bytes[PLAN_AND_RUN_BYTES];
  link_put_u32(bytes, link->settings->identity->plan);
  link_put_u32(bytes + 4, run);
  forget_everything(link);
  link->parser.seed = crc32(0, bytes, sizeof bytes);
  link->run = run;
  link->state = LINK_STARTING;
  link->counters = (link_counters_t){0};
  link->answers = LINK_SAY_HELLO;
  link_wake(link);
}

void link_leave(link_t *link) {
  forget_everything(link);
  link->state = LINK_STOPPED;
  link->answers &= LINK_SAY_HELLO_REPLY;
}

void link_fail(link_t *link, uint8_t index, link_failure_t reason) {
  if (link->state == LINK_STOPPED) return;
  link_leave(link);
  link->failure = reason;
  link_tell(link, LINK_EVENT_FAILED, index, reason);
}

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

void link_frame_damaged(link_t *link) {
  link->counters.damaged++;
  if (link_is_data(link->parser.header.type)) link_in_end_frame(link, false);
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
  while (count) {
    link_parsed_t what;
    uint32_t taken = link_parse(&link->parser, bytes, count, &what);
    bytes += taken;
    count -= taken;
    switch (what) {
      case LINK_PARSED_HEADER: header_received(link); break;
      case LINK_PARSED_SEGMENT: link_in_next_segment(link); break;
      case LINK_PARSED_GOOD: frame_received(link); break;
      case LINK_PARSED_DAMAGED: link_frame_damaged(link); break;
      default: break;
    }
  }
}
