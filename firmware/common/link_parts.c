/* What the other files of a link stand on: its channels, what waits to leave, and the end of a run. */
#include "link_parts.h"

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

static inline const link_channel_t *channel_of(const link_t *link, uint8_t channel) {
  uint8_t in = link_index(link, channel, false);
  return link_at(link, in != LINK_NO_CHANNEL ? in : link_index(link, channel, true));
}

link_channel_state_t link_channel_state(const link_t *link, uint8_t channel) {
  return channel_of(link, channel)->state;
}

bool link_has(const link_t *link, uint8_t channel, uint8_t number) {
  const link_channel_t *own = channel_of(link, channel);
  return own->state >= LINK_GRANTED && own->number == number;
}

/* Whatever makes a frame wait to leave comes here, so that channels are looked at only then. */
void link_wake(link_t *link) {
  link->may_speak = true;
  link->settings->wake(link->settings->port);
}

void link_say(link_t *link, link_channel_t *channel, uint8_t what) {
  uint8_t index = (uint8_t)(channel - link->settings->channels);
  channel->answers |= what;
  if (index < link->first_answer) link->first_answer = index;
  link_wake(link);
}

void link_tell(link_t *link, link_event_t event, uint8_t index, uint32_t detail) {
  uint8_t channel = index == LINK_NO_CHANNEL ? LINK_NO_CHANNEL : link_plan(link, index)->channel;
  link->settings->event(link, event, channel, detail);
}

void link_begin_data(link_t *link, uint8_t index, link_header_t *header, const uint8_t *data) {
  header->addresses = link_addresses(link);
  link->speaking = index;
  link_write_data(&link->writer, header, link->parser.seed, data);
}

/* CRCs over units */

static bool is_free(const link_t *link) {
  const link_work_t *work = &link->work;
  if (work->job == LINK_ANSWER_MADE) return !(link_at(link, work->index)->answers & LINK_SAY_DAMAGED);
  return work->job == LINK_NO_JOB;
}

bool link_work_begin(link_t *link, link_job_t job, uint8_t index, uint32_t first, uint32_t blocks) {
  if (!is_free(link)) return false;
  link->work = (link_work_t){.job = (uint8_t)job,
                             .index = index,
                             .number = link_at(link, index)->number,
                             .first = (uint16_t)first,
                             .blocks = (uint8_t)blocks};
  link_wake(link);
  return true;
}

/* Ends of runs */

void link_forget(link_t *link) {
  link_parser_reset(&link->parser);
  link_writer_reset(&link->writer);
  for (uint8_t i = 0; i < link->settings->channel_count; i++) *link_at(link, i) = (link_channel_t){.state = LINK_IDLE};
  link->first_answer = 0;
  link->moving = 0;
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

void link_leave(link_t *link) {
  link_forget(link);
  link->state = LINK_STOPPED;
  link->answers &= LINK_SAY_HELLO_REPLY;
}

void link_fail(link_t *link, uint8_t index, link_failure_t reason) {
  if (link->state == LINK_STOPPED) return;
  link_leave(link);
  link->failure = reason;
  link_tell(link, LINK_EVENT_FAILED, index, reason);
}
