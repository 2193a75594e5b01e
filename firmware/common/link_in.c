/* The receiving side of channels. A block is whole when a CRC-32 has covered it; a whole block is never written again.
 */
#include "link_parts.h"

#include <string.h>

enum {
  CRC_IS_KNOWN = 1,     /* a DATA_END has arrived */
  AWAITS_CONFIRM = 2,   /* DAMAGED was sent: the sender's part comes */
  OWES_ANSWER = 4,      /* the tensor's end is not acknowledged yet; stays when the next one is granted */
  CHECKED_AT_ONCE = 2,  /* blocks in a call of link_in_check */
  MOST_MISMATCHES = 3,
  MISSING_BLOCKS = 256 /* in a frame of MISSING */
};

static bool is_awaited(const link_channel_t *channel, uint8_t number) {
  return channel->state == LINK_GRANTED && channel->number == number;
}

/* The tensor has been received: its ACK was lost. */
static bool is_past(const link_channel_t *channel, uint8_t number) {
  uint8_t age = (uint8_t)(channel->number - number);
  return (channel->state == LINK_FULL && age < 128) || (channel->state == LINK_GRANTED && age > 0 && age < 128);
}

static void begin_tensor(const link_channel_plan_t *plan, link_channel_t *channel) {
  memset(plan->blocks, 0xFF, LINK_BITMAP_BYTES(plan->bytes));
  channel->position = 0;
  channel->crc = ~0u;
  channel->flags &= OWES_ANSWER;
  channel->u.in.next = 0;
  channel->u.in.hole_to = 0;
}

/* A grant acknowledges all tensors before it. */
void link_accept(link_t *link, uint8_t channel_number, uint8_t *data, uint8_t number) {
  uint8_t index = link_index(link, channel_number, false);
  link_channel_t *channel = link_at(link, index);
  begin_tensor(link_plan(link, index), channel);
  channel->data.to = data;
  channel->number = number;
  channel->attempts = 0;
  channel->state = LINK_GRANTED;
  channel->answers = 0;
  link_say(link, channel, LINK_SAY_GRANT);
}

uint32_t link_received_prefix(const link_t *link, uint8_t channel_number) {
  uint8_t index = link_index(link, channel_number, false);
  const link_channel_t *channel = link_at(link, index);
  const link_channel_plan_t *plan = link_plan(link, index);
  if (channel->state == LINK_FULL) return plan->bytes;
  if (channel->state != LINK_GRANTED) return 0;
  uint32_t blocks = link_find_bit(plan->blocks, channel->position / LINK_BLOCK_BYTES, link_blocks_of(plan->bytes));
  return link_smaller(blocks * LINK_BLOCK_BYTES, plan->bytes);
}

uint32_t link_mismatches(const link_t *link, uint8_t channel_number) {
  return link_at(link, link_index(link, channel_number, false))->attempts;
}

/* What is missing */

static bool asks_for_everything(const link_channel_t *channel) {
  return (channel->answers & LINK_SAY_MISSING) && channel->u.in.hole_to == 0;
}

/* Names all that is missing; at the end of what the sender has to say, and when what it has confirmed is checked. */
static void report(link_t *link, uint8_t index) {
  const link_channel_plan_t *plan = link_plan(link, index);
  link_channel_t *channel = link_at(link, index);
  if (link->work.job == LINK_CHECK && link->work.index == index) {
    link->work.is_report_due = true;
    return;
  }
  if (channel->state != LINK_GRANTED || asks_for_everything(channel)) return;
  uint32_t blocks = link_blocks_of(plan->bytes);
  if (channel->position == plan->bytes) link_set_bit(plan->blocks, blocks - 1); /* its CRC did not arrive */
  uint32_t hole = link_find_bit(plan->blocks, 0, blocks);
  if (hole == blocks) {
    link_say(link, channel, LINK_SAY_WAIT); /* still checking */
    return;
  }
  channel->u.in.hole = (uint16_t)hole;
  channel->u.in.hole_to = (uint16_t)blocks;
  link_say(link, channel, LINK_SAY_MISSING);
}

/* Frames of data */

static void expect(link_t *link, link_channel_t *channel, uint32_t first, uint32_t behind) {
  if (first > channel->u.in.next) { /* all between has been lost */
    if (!(channel->answers & LINK_SAY_MISSING)) channel->u.in.hole = channel->u.in.next;
    channel->u.in.hole_to = (uint16_t)first;
    link->counters.lost++;
    link_say(link, channel, LINK_SAY_MISSING);
  }
  if (behind > channel->u.in.next) channel->u.in.next = (uint16_t)behind;
}

/* Whether the check covers one of these blocks: the sender repeats those that it has not confirmed, meanwhile. */
static bool is_checked(const link_t *link, uint32_t first, uint32_t behind) {
  const link_work_t *work = &link->work;
  link_units_t units = link_units(work->first, work->blocks, link_plan(link, work->index)->bytes);
  uint32_t unit_blocks = units.unit_bytes / LINK_BLOCK_BYTES;
  for (uint32_t i = 0; i < units.count; i++) {
    uint32_t from = work->first + i * unit_blocks;
    if (((uint32_t)work->bits >> i & 1u) && first < from + unit_blocks && from < behind) return true;
  }
  return false;
}

/* Blocks that are checked arrive again: what is there by now says nothing of what will be. */
static void stop_check(link_t *link, uint32_t first, uint32_t behind) {
  link_work_t *work = &link->work;
  if (work->job != LINK_CHECK || work->index != link->hearing || !is_checked(link, first, behind)) return;
  work->job = LINK_NO_JOB;
  if (work->is_report_due) report(link, work->index);
}

void link_in_begin_frame(link_t *link) {
  const link_header_t *header = &link->parser.header;
  link_channel_t *channel = link_at(link, link->hearing);
  uint32_t bytes = link_data_bytes(header);
  link_parser_data(&link->parser);
  if (is_awaited(channel, header->number)) {
    uint32_t behind = header->offset + link_blocks_of(bytes);
    stop_check(link, header->offset, behind);
    expect(link, channel, header->offset, behind);
    link_in_next_segment(link);
  } else {
    link_parser_segment(&link->parser, NULL, bytes);
  }
}

/* A run of blocks that are all missing, or all whole and not to be written. */
void link_in_next_segment(link_t *link) {
  link_parser_t *parser = &link->parser;
  const uint8_t *missing = link_plan(link, link->hearing)->blocks;
  uint32_t at = (uint32_t)parser->header.offset * LINK_BLOCK_BYTES + link_data_bytes(&parser->header) - parser->left;
  uint32_t first = at / LINK_BLOCK_BYTES;
  uint32_t end = first + link_blocks_of(parser->left);
  bool is_missing = link_bit(missing, first);
  uint32_t behind = first + 1;
  while (behind < end && link_bit(missing, behind) == is_missing) behind++;
  uint32_t bytes = link_smaller((behind - first) * LINK_BLOCK_BYTES, parser->left);
  link_parser_segment(parser, is_missing ? link_at(link, link->hearing)->data.to + at : NULL, bytes);
}

static void complete(link_t *link, uint8_t index) {
  link_channel_t *channel = link_at(link, index);
  channel->state = LINK_FULL;
  channel->answers = 0;
  channel->flags |= OWES_ANSWER;
  channel->u.in.left = link->filled - link->settings->left(link->settings->port);
  link_say(link, channel, LINK_SAY_ACK);
  link_tell(link, LINK_EVENT_RECEIVED, index, 0);
}

/* Bytes that leave between a tensor's end and its acknowledgement: its sender takes their time from the transfer's. */
uint16_t link_in_bytes_before(const link_t *link, link_channel_t *channel) {
  if (!(channel->flags & OWES_ANSWER)) return 0;
  channel->flags = (uint8_t)(channel->flags & ~OWES_ANSWER);
  return (uint16_t)link_smaller(link->filled - channel->u.in.left, UINT16_MAX);
}

static void ask_for_everything(link_t *link, uint8_t index) {
  link_channel_t *channel = link_at(link, index);
  if (++channel->attempts > MOST_MISMATCHES) {
    link_fail(link, index, LINK_CORRUPT);
    return;
  }
  begin_tensor(link_plan(link, index), channel);
  link_say(link, channel, LINK_SAY_MISSING);
}

bool link_in_is_checking(const link_t *link, uint8_t index) {
  const link_channel_plan_t *plan = link_plan(link, index);
  const link_channel_t *channel = link_at(link, index);
  return channel->state == LINK_GRANTED && channel->position < plan->bytes &&
         !link_bit(plan->blocks, channel->position / LINK_BLOCK_BYTES);
}

/* Brings the tensor's CRC forward over whole blocks, a few at a time: those that came in another order. */
void link_in_check(link_t *link, uint8_t index) {
  const link_channel_plan_t *plan = link_plan(link, index);
  link_channel_t *channel = link_at(link, index);
  for (uint32_t i = 0; i < CHECKED_AT_ONCE && link_in_is_checking(link, index); i++) {
    uint32_t bytes = link_smaller(LINK_BLOCK_BYTES, plan->bytes - channel->position);
    channel->crc = ~crc32(~channel->crc, channel->data.to + channel->position, bytes);
    channel->position += bytes;
  }
  link->may_check = true;
  if (channel->state != LINK_GRANTED || channel->position < plan->bytes || !(channel->flags & CRC_IS_KNOWN)) return;
  if (link_bit(plan->blocks, link_blocks_of(plan->bytes) - 1)) return; /* it comes again, see report() */
  if (~channel->crc == channel->u.in.crc) {
    complete(link, index);
  } else {
    ask_for_everything(link, index);
  }
}

static void take_data(link_t *link, link_channel_t *channel, uint32_t bytes) {
  const link_parser_t *parser = &link->parser;
  const link_channel_plan_t *plan = link_plan(link, link->hearing);
  uint32_t first = parser->header.offset;
  for (uint32_t i = first; i < first + link_blocks_of(bytes); i++) link_clear_bit(plan->blocks, i);
  if (bytes == plan->bytes) { /* the frame's CRC is the tensor's */
    complete(link, link->hearing);
    return;
  }
  if (channel->position == first * LINK_BLOCK_BYTES) {
    channel->crc = crc32_zeros(parser->header_crc ^ channel->crc, bytes) ^ parser->data_crc;
    channel->position += bytes;
  }
  bool is_end = parser->header.type == LINK_DATA_END;
  if (is_end) {
    channel->u.in.crc = link_get_u32(parser->note);
    channel->flags |= CRC_IS_KNOWN;
  }
  link_in_check(link, link->hearing);
  bool is_over = channel->number != parser->header.number; /* the event of its end has granted the next one */
  if (is_end && !is_over && !(channel->flags & AWAITS_CONFIRM) && !link_in_is_checking(link, link->hearing)) {
    report(link, link->hearing);
  }
}

static void refuse_data(link_t *link, link_channel_t *channel, uint32_t bytes) {
  const link_header_t *header = &link->parser.header;
  if (link_work_begin(link, LINK_MAKE_ANSWER, link->hearing, header->offset, link_blocks_of(bytes))) {
    channel->flags |= AWAITS_CONFIRM;
  } else if (header->type == LINK_DATA_END) {
    report(link, link->hearing);
  }
}

void link_in_end_frame(link_t *link, bool is_good) {
  const link_header_t *header = &link->parser.header;
  link_channel_t *channel = link_at(link, link->hearing);
  if (is_awaited(channel, header->number)) {
    (is_good ? take_data : refuse_data)(link, channel, link_data_bytes(header));
  } else if (is_past(channel, header->number)) {
    link_say(link, channel, channel->state == LINK_FULL ? LINK_SAY_ACK : LINK_SAY_GRANT);
  }
}

/* Frames without data */

void link_in_damaged(link_t *link) {
  link->counters.damaged++;
  if (link_is_data(link->parser.header.type)) link_in_end_frame(link, false);
}

static void take_confirm(link_t *link, uint8_t index, const link_header_t *header, const uint8_t *note) {
  link_channel_t *channel = link_at(link, index);
  uint32_t blocks = note[0];
  if (blocks == 0 || blocks > LINK_MAX_BLOCKS) return;
  if (header->offset + blocks > link_blocks_of(link_plan(link, index)->bytes)) return;
  channel->flags = (uint8_t)(channel->flags & ~AWAITS_CONFIRM);
  if (!link_work_begin(link, LINK_CHECK, index, header->offset, blocks)) return;
  link->work.bits = link_get_u16(note + 1);
  link->work.confirmed = link_get_u32(note + 3);
}

void link_in_checked(link_t *link) {
  const link_work_t *work = &link->work;
  const link_channel_plan_t *plan = link_plan(link, work->index);
  link_units_t units = link_units(work->first, work->blocks, plan->bytes);
  uint32_t unit_blocks = units.unit_bytes / LINK_BLOCK_BYTES;
  for (uint32_t i = 0; i < work->blocks && work->crc == work->confirmed; i++) {
    if ((uint32_t)work->bits >> (i / unit_blocks) & 1u) link_clear_bit(plan->blocks, work->first + i);
  }
  link_in_check(link, work->index);
  if (work->is_report_due && !link_in_is_checking(link, work->index)) report(link, work->index);
}

static void take_offer(link_t *link, uint8_t index, uint8_t number) {
  link_channel_t *channel = link_at(link, index);
  if (is_awaited(channel, number)) {
    link_say(link, channel, LINK_SAY_GRANT);
  } else if (channel->state == LINK_GRANTED && !is_past(channel, number)) {
    link_fail(link, index, LINK_CORRUPT); /* the peer takes for delivered what never arrived */
  } else if (is_past(channel, number)) {
    link_say(link, channel, channel->state == LINK_FULL ? LINK_SAY_ACK : LINK_SAY_GRANT);
  } else {
    channel->number = channel->state == LINK_FULL ? channel->number : number;
    link_say(link, channel, LINK_SAY_WAIT);
    if (channel->state != LINK_IDLE) return;
    channel->state = LINK_OFFERED;
    link_tell(link, LINK_EVENT_OFFERED, index, 0);
  }
}

static void take_query(link_t *link, uint8_t index, uint8_t number) {
  link_channel_t *channel = link_at(link, index);
  if (is_awaited(channel, number)) {
    channel->flags = (uint8_t)(channel->flags & ~AWAITS_CONFIRM);
    report(link, index);
  } else if (is_past(channel, number)) {
    link_say(link, channel, channel->state == LINK_FULL ? LINK_SAY_ACK : LINK_SAY_GRANT);
  }
}

void link_in_note(link_t *link, uint8_t index, const link_header_t *header, const uint8_t *note) {
  if (header->type == LINK_OFFER) take_offer(link, index, header->number);
  if (header->type == LINK_QUERY) take_query(link, index, header->number);
  if (header->type == LINK_CONFIRM && is_awaited(link_at(link, index), header->number)) {
    take_confirm(link, index, header, note);
  }
}

/* Bits of the missing blocks; no byte: everything. More frames follow until the end of the hole. */
uint16_t link_in_missing_note(link_t *link, uint8_t index, uint16_t *offset, uint8_t *note) {
  link_channel_t *channel = link_at(link, index);
  const uint8_t *missing = link_plan(link, index)->blocks;
  uint32_t to = channel->u.in.hole_to;
  uint32_t first = link_find_bit(missing, channel->u.in.hole, to) & ~7u;
  *offset = to == 0 ? 0 : (uint16_t)first;
  uint32_t behind = link_smaller(first + MISSING_BLOCKS, to);
  uint32_t bytes = (behind - first + 7u) / 8u;
  if (bytes == 0 && to > 0) bytes = 1; /* the hole has been filled meanwhile */
  memset(note, 0, bytes);
  for (uint32_t i = first; i < behind; i++) {
    if (i >= channel->u.in.hole && link_bit(missing, i)) link_set_bit(note, i - first);
  }
  channel->u.in.hole = (uint16_t)behind;
  if (behind < to && link_find_bit(missing, behind, to) < to) link_say(link, channel, LINK_SAY_MISSING);
  return (uint16_t)bytes;
}

uint16_t link_in_damaged_note(link_t *link, uint8_t index, uint16_t *offset, uint8_t *note) {
  link_work_t *work = &link->work;
  link_units_t units = link_units(work->first, work->blocks, link_plan(link, index)->bytes);
  *offset = work->first;
  note[0] = work->blocks;
  for (uint8_t i = 0; i < units.count; i++) link_put_u16(note + 1 + 2u * i, work->crcs[i]);
  work->job = LINK_NO_JOB;
  return (uint16_t)(1u + 2u * units.count);
}
