/* What leaves next: HELLO, then frames without data, then data, tensor after tensor. */
#include "link_awake.h"
#include "link_parts.h"

static bool begin_hello(link_t *link) {
  bool is_reply = link->answers & LINK_SAY_HELLO_REPLY;
  link->answers = (uint8_t)(link->answers & ~(is_reply ? LINK_SAY_HELLO_REPLY : LINK_SAY_HELLO));
  link_header_t header = {.type = is_reply ? LINK_HELLO_REPLY : LINK_HELLO, .addresses = link_addresses(link)};
  header.length = link_peer_note(link, link_writer_note(&link->writer));
  link->speaking = LINK_NO_CHANNEL;
  link_write_note(&link->writer, &header, 0);
  return true;
}

/* A WAIT is for the tensor after one that is still here. */
static uint8_t number_of(const link_channel_t *channel, uint8_t type) {
  return (uint8_t)(channel->number + (type == LINK_WAIT && channel->state == LINK_FULL));
}

static bool begin_answer(link_t *link, uint8_t index) {
  static const uint8_t types[] = {LINK_GRANT,   LINK_OFFER,   LINK_WAIT,    LINK_ACK,
                                  LINK_MISSING, LINK_DAMAGED, LINK_CONFIRM, LINK_QUERY};
  link_channel_t *channel = link_at(link, index);
  if (channel->answers == 0) return false;
  uint8_t which = 0;
  while (!(channel->answers & 1u << which)) which++;
  channel->answers = (uint8_t)(channel->answers & ~(1u << which));
  link_header_t header = {.type = types[which],
                          .addresses = link_addresses(link),
                          .channel = link_plan(link, index)->channel,
                          .number = number_of(channel, types[which])};
  uint8_t *note = link_writer_note(&link->writer);
  if (header.type == LINK_ACK || header.type == LINK_GRANT) header.offset = link_in_bytes_before(link, channel);
  if (header.type == LINK_MISSING) header.length = link_in_missing_note(link, index, &header.offset, note);
  if (header.type == LINK_DAMAGED) header.length = link_in_damaged_note(link, index, &header.offset, note);
  if (header.type == LINK_CONFIRM) header.length = link_out_confirm_note(channel, &header.offset, note);
  link->speaking = index;
  link_write_note(&link->writer, &header, link->parser.seed);
  return true;
}

static bool begin_frame(link_t *link) {
  uint8_t count = link->settings->channel_count;
  if (link->answers) return begin_hello(link);
  if (!link->may_speak || link->state == LINK_STOPPED) return false;
  for (; link->first_answer < count; link->first_answer++) {
    if (begin_answer(link, link->first_answer)) return true;
  }
  uint8_t index = link->turn;
  for (uint8_t i = 0; link->moving && i < count; i++) {
    link->turn = index;
    if (link_out_has_data(link, index) && link_out_next_data(link, index)) return true;
    index = (uint8_t)(index + 1u) < count ? (uint8_t)(index + 1u) : 0;
  }
  link->may_speak = false;
  return false;
}

static bool begin_next(link_t *link) {
  link_awake_expect(link);
  bool has_begun = begin_frame(link);
  if (has_begun) link_awake_begin(link);
  return has_begun;
}

static void frame_left(link_t *link) {
  if (link->speaking != LINK_NO_CHANNEL) {
    link_out_frame_left(link);
  } else if (link->writer.type == LINK_HELLO) {
    link_peer_asked(link);
  }
}

uint32_t link_fill(link_t *link, uint8_t *bytes, uint32_t room) {
  uint32_t filled = 0;
  link->filling = 0;
  while (filled < room && (!link_writer_is_idle(&link->writer) || begin_next(link))) {
    link_written_t what;
    uint32_t written = link_awake_write(link, bytes + filled, room - filled, &what);
    filled += written;
    link->filled += written;
    link->filling = filled;
    link->ahead += written * LINK_BITS_PER_BYTE * 1000u;
    if (what == LINK_WRITTEN_DATA) link_out_data_left(link);
    if (what == LINK_WRITTEN_FRAME) frame_left(link);
  }
  return filled;
}

bool link_is_busy(const link_t *link) {
  return link_awake_is_on(link) || link->hello_ms || link->ahead || link->may_be_due ||
         !link_parser_is_hunting(&link->parser);
}

static void grow(uint16_t *ms) {
  if (*ms < UINT16_MAX) (*ms)++;
}

void link_tick(link_t *link) {
  link->ahead -= link_smaller(link->ahead, link->settings->baud);
  link_awake_tick(link);
  grow(&link->quiet_ms);
  grow(&link->deaf_ms);
  bool is_silent = link->quiet_ms > LINK_SILENCE_MS + link_ms_of(link, 2);
  if (is_silent && link_parser_end(&link->parser)) link_in_damaged(link);
  link_peer_tick(link);
  if (link->state == LINK_STOPPED || !link->may_be_due) return;
  link->may_be_due = false;
  for (uint8_t i = 0; i < link->settings->channel_count; i++) {
    if (!link_plan(link, i)->is_out) continue;
    link_out_tick(link, i);
    link->may_be_due |= link_at(link, i)->due_ms > 0;
  }
}
