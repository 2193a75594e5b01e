/* The sending side of channels. */
#include "link_parts.h"

#include <string.h>

enum {
  HAS_GRANT = 1,      /* for tensor `granted` */
  HAS_REPEATS = 2,    /* blocks to send again */
  IS_FIRST = 4,       /* the frame that leaves is no repetition */
  HAS_STARTED = 8,    /* some of the tensor has left */
  SMALLEST_FRAME = 2, /* blocks */
  STREAM_BLOCKS = 4,  /* of a frame, whatever its share */
  GOOD_FRAMES = 16,   /* before frames grow again */
  BUDGET_FACTOR = 16, /* repetitions of a block on average, until the line is too bad */
  BUDGET_BLOCKS = 64
};

static uint32_t may_leave(const link_channel_plan_t *plan, const link_channel_t *channel) {
  uint32_t ready = channel->u.out.ready;
  return ready < plan->bytes ? ready / LINK_BLOCK_BYTES * LINK_BLOCK_BYTES : plan->bytes;
}

bool link_out_has_data(const link_t *link, uint8_t index) {
  const link_channel_t *channel = link_at(link, index);
  return channel->state == LINK_MOVING &&
         ((channel->flags & HAS_REPEATS) || channel->position < may_leave(link_plan(link, index), channel));
}

bool link_awaits_answer(const link_t *link) {
  for (uint8_t i = 0; link->moving && i < link->settings->channel_count; i++) {
    bool is_moving = link_plan(link, i)->is_out && link_at(link, i)->state == LINK_MOVING;
    bool is_filled = link_at(link, i)->position == link_plan(link, i)->bytes && !link_out_has_data(link, i);
    if (is_moving && is_filled) return true;
  }
  return false;
}

static void begin_tensor(link_t *link, uint8_t index) {
  const link_channel_plan_t *plan = link_plan(link, index);
  link_channel_t *channel = link_at(link, index);
  memset(plan->blocks, 0, LINK_BITMAP_BYTES(plan->bytes));
  channel->flags = (uint8_t)(channel->flags & ~(HAS_REPEATS | IS_FIRST));
  channel->position = 0;
  channel->crc = ~0u;
}

static void start(link_t *link, uint8_t index) {
  link_channel_t *channel = link_at(link, index);
  begin_tensor(link, index);
  channel->u.out.budget = BUDGET_FACTOR * link_blocks_of(link_plan(link, index)->bytes) + BUDGET_BLOCKS;
  channel->answers = 0;
  channel->attempts = 0;
  channel->due_ms = 0;
  channel->flags = (uint8_t)(channel->flags & ~HAS_STARTED);
  link->moving++;
  channel->state = LINK_MOVING;
  link_wake(link);
}

static void set_due(link_t *link, link_channel_t *channel, uint32_t ms) {
  link->may_be_due = true;
  channel->due_ms = (uint16_t)(ms + link_ms_of(link, 4) + link->ahead / link->settings->baud + 1u);
}

/* A grant is usually on its way already: only without one the tensor is offered. */
void link_send(link_t *link, uint8_t channel_number, const uint8_t *data, uint8_t number, uint32_t ready) {
  uint8_t index = link_index(link, channel_number, true);
  link_channel_t *channel = link_at(link, index);
  channel->data.from = data;
  channel->number = number;
  channel->u.out.ready = ready;
  channel->repeats = 0;
  channel->attempts = 0;
  channel->state = LINK_QUEUED;
  if ((channel->flags & HAS_GRANT) && channel->u.out.granted == number) {
    start(link, index);
  } else {
    set_due(link, channel, link_ms_of(link, LINK_HEADER_BYTES));
  }
}

void link_extend(link_t *link, uint8_t channel_number, uint32_t ready) {
  link_at(link, link_index(link, channel_number, true))->u.out.ready = ready;
  link_wake(link);
}

/* Leaving */

static void count_repeat(link_t *link, link_channel_t *channel, uint32_t blocks) {
  channel->u.out.budget -= blocks;
  if (channel->repeats < UINT8_MAX) channel->repeats++;
  link->counters.repeated++;
}

/* Blocks of the longest frame after `sent` blocks: the receiver's layer may wait for rows until a frame has ended.
 * timing/frames.py has the same. */
static uint32_t frame_limit(const link_t *link, const link_channel_plan_t *plan, uint32_t sent) {
  if (plan->frame_share == 0) return link->frame_blocks;
  uint32_t limit = (link_blocks_of(plan->bytes) - sent) * plan->frame_share / 256u;
  return link_smaller(limit < STREAM_BLOCKS ? (uint32_t)STREAM_BLOCKS : limit, link->frame_blocks);
}

/* Blocks of the next frame; 0: none. */
static uint32_t choose_blocks(link_t *link, uint8_t index, uint32_t *first) {
  const link_channel_plan_t *plan = link_plan(link, index);
  link_channel_t *channel = link_at(link, index);
  uint32_t sent = link_blocks_of(channel->position);
  uint32_t blocks = 0;
  *first = channel->flags & HAS_REPEATS ? link_find_bit(plan->blocks, 0, sent) : sent;
  if (*first < sent) {
    for (; *first + blocks < sent && blocks < link->frame_blocks && link_bit(plan->blocks, *first + blocks); blocks++) {
      link_clear_bit(plan->blocks, *first + blocks);
    }
    channel->flags = (uint8_t)(channel->flags & ~IS_FIRST);
    if (blocks <= channel->u.out.budget) {
      count_repeat(link, channel, blocks);
    } else {
      link_fail(link, index, LINK_CORRUPT);
      blocks = 0;
    }
  } else {
    blocks = link_smaller(link_blocks_of(may_leave(plan, channel)) - sent, frame_limit(link, plan, sent));
    channel->position = link_smaller((sent + blocks) * LINK_BLOCK_BYTES, plan->bytes);
    channel->flags |= IS_FIRST;
  }
  if (link_find_bit(plan->blocks, 0, sent) == sent) channel->flags = (uint8_t)(channel->flags & ~HAS_REPEATS);
  return blocks;
}

bool link_out_next_data(link_t *link, uint8_t index) {
  const link_channel_plan_t *plan = link_plan(link, index);
  link_channel_t *channel = link_at(link, index);
  uint32_t first;
  uint32_t blocks = choose_blocks(link, index, &first);
  if (blocks == 0) return false;
  if (!(channel->flags & HAS_STARTED)) link_tell(link, LINK_EVENT_STARTED, index, link->filling);
  channel->flags |= HAS_STARTED;
  uint32_t at = first * LINK_BLOCK_BYTES;
  uint32_t bytes = link_smaller(blocks * LINK_BLOCK_BYTES, plan->bytes - at);
  bool is_end = bytes < plan->bytes && channel->position == plan->bytes && !(channel->flags & HAS_REPEATS);
  link_header_t header = {.type = is_end ? LINK_DATA_END : LINK_DATA,
                          .channel = plan->channel,
                          .number = channel->number,
                          .offset = (uint16_t)first,
                          .length = (uint16_t)(bytes + (is_end ? (uint32_t)LINK_CRC_BYTES : 0u))};
  link_begin_data(link, index, &header, channel->data.from + at);
  if (++link->good_frames >= GOOD_FRAMES) {
    link->frame_blocks = (uint8_t)link_smaller(2u * link->frame_blocks, LINK_MAX_BLOCKS);
    link->good_frames = 1;
  }
  return true;
}

void link_out_data_left(link_t *link) {
  link_channel_t *channel = link_at(link, link->speaking);
  link_writer_t *writer = &link->writer;
  if (channel->flags & IS_FIRST) {
    channel->crc = crc32_zeros(writer->header_crc ^ channel->crc, writer->bytes) ^ writer->crc;
  }
  link_writer_close(writer, ~channel->crc);
}

static uint32_t retry_ms(const link_channel_t *channel) {
  return link_smaller((channel->attempts + 1u) * LINK_RETRY_MS, LINK_RETRY_MOST_MS);
}

/* When all has left, an answer is due. The tensor that follows may be queued already, and wait for its grant. */
static void await_answer(link_t *link, uint8_t index) {
  link_channel_t *channel = link_at(link, index);
  if (channel->state != LINK_MOVING) return;
  channel->due_ms = 0;
  if (link_out_has_data(link, index)) return;
  if (channel->position == link_plan(link, index)->bytes) set_due(link, channel, LINK_QUERY_MS);
}

void link_out_frame_left(link_t *link) {
  link_channel_t *channel = link_at(link, link->speaking);
  uint8_t type = link->writer.type;
  if (link_is_data(type)) await_answer(link, link->speaking);
  bool is_question = (type == LINK_OFFER && channel->state == LINK_QUEUED) ||
                     (type == LINK_QUERY && channel->state == LINK_MOVING);
  if (is_question) set_due(link, channel, retry_ms(channel));
}

void link_out_tick(link_t *link, uint8_t index) {
  link_channel_t *channel = link_at(link, index);
  if (channel->due_ms == 0 || --channel->due_ms > 0) return;
  if (link_peer_is_sending(link)) {
    channel->due_ms = 1;
    return;
  }
  if (channel->attempts > 0) link->counters.questions++;
  if (channel->attempts < UINT8_MAX) channel->attempts++;
  link_say(link, channel, channel->state == LINK_QUEUED ? LINK_SAY_OFFER : LINK_SAY_QUERY);
  if (channel->attempts > LINK_ATTEMPTS) link_peer_ask(link);
}

/* Answers of the receiver */

/* `bytes_before` left the receiver between the tensor's end and the answer. */
static void done(link_t *link, uint8_t index, uint32_t bytes_before) {
  link_channel_t *channel = link_at(link, index);
  link->moving--;
  channel->state = LINK_DONE;
  channel->answers = 0;
  channel->due_ms = 0;
  link_tell(link, LINK_EVENT_SENT, index, channel->repeats + 256u * bytes_before);
}

/* A grant of the next tensor acknowledges this one. */
static void take_grant(link_t *link, uint8_t index, uint8_t number, uint32_t bytes_before) {
  link_channel_t *channel = link_at(link, index);
  bool is_next = number == (uint8_t)(channel->number + 1u);
  if (channel->state == LINK_QUEUED) {
    if (number == channel->number) start(link, index);
  } else if (channel->state == LINK_IDLE || is_next) {
    channel->u.out.granted = number;
    channel->flags |= HAS_GRANT;
    if (channel->state == LINK_MOVING) done(link, index, bytes_before);
  }
}

static void repeat_blocks(link_t *link, uint8_t index, uint32_t first, uint32_t behind) {
  link_channel_t *channel = link_at(link, index);
  uint32_t end = link_smaller(behind, link_blocks_of(channel->position));
  for (; first < end; first++) {
    link_set_bit(link_plan(link, index)->blocks, first);
    channel->flags |= HAS_REPEATS;
  }
}

static void shorten_frames(link_t *link) {
  if (link->good_frames == 0) return; /* one loss, several reports */
  link->good_frames = 0;
  if (link->frame_blocks > SMALLEST_FRAME) link->frame_blocks /= 2;
}

static void take_missing(link_t *link, uint8_t index, const link_header_t *header, const uint8_t *note) {
  shorten_frames(link);
  if (header->length == 0) begin_tensor(link, index);
  for (uint32_t i = 0; i < 8u * header->length; i++) {
    if (link_bit(note, i)) repeat_blocks(link, index, header->offset + i, header->offset + i + 1u);
  }
}

static void take_damaged(link_t *link, uint8_t index, const link_header_t *header, const uint8_t *note) {
  link_channel_t *channel = link_at(link, index);
  uint32_t blocks = note[0];
  if (blocks == 0 || blocks > LINK_MAX_BLOCKS || header->offset + blocks > link_blocks_of(channel->position)) return;
  link_units_t units = link_units(header->offset, blocks, link_plan(link, index)->bytes);
  if (header->length != 1u + 2u * units.count) return;
  if (!link_work_begin(link, LINK_COMPARE, index, header->offset, blocks)) return; /* it is asked for again */
  for (uint8_t i = 0; i < units.count; i++) link->work.crcs[i] = link_get_u16(note + 1 + 2u * i);
}

void link_out_compared(link_t *link) {
  const link_work_t *work = &link->work;
  uint8_t index = work->index;
  link_channel_t *channel = link_at(link, index);
  link_units_t units = link_units(work->first, work->blocks, link_plan(link, index)->bytes);
  uint32_t unit_blocks = units.unit_bytes / LINK_BLOCK_BYTES;
  uint32_t end = work->first + (uint32_t)work->blocks;
  for (uint32_t i = 0; i < units.count; i++) {
    uint32_t first = work->first + i * unit_blocks;
    if (!((uint32_t)work->bits >> i & 1u)) repeat_blocks(link, index, first, link_smaller(first + unit_blocks, end));
  }
  channel->u.out.confirmed = work->first;
  channel->u.out.confirmed_blocks = work->blocks;
  channel->u.out.confirmed_bits = work->bits;
  channel->u.out.confirmed_crc = work->crc;
  link_say(link, channel, LINK_SAY_CONFIRM);
  /* The end is said again, with its CRC. */
  if (!link_out_has_data(link, index)) repeat_blocks(link, index, end - 1u, end);
  await_answer(link, index);
}

void link_out_note(link_t *link, uint8_t index, const link_header_t *header, const uint8_t *note) {
  link_channel_t *channel = link_at(link, index);
  if (header->type == LINK_GRANT) {
    take_grant(link, index, header->number, header->offset);
    return;
  }
  if (header->number != channel->number) return;
  if (channel->state == LINK_QUEUED && header->type == LINK_ACK) link_fail(link, index, LINK_CORRUPT);
  if (channel->state != LINK_QUEUED && channel->state != LINK_MOVING) return;
  channel->attempts = 0;
  if (header->type == LINK_WAIT) set_due(link, channel, LINK_RETRY_MOST_MS);
  if (channel->state != LINK_MOVING || header->type == LINK_WAIT) return;
  if (header->type == LINK_ACK) {
    done(link, index, header->offset);
    return;
  }
  if (header->type == LINK_MISSING) take_missing(link, index, header, note);
  if (header->type == LINK_DAMAGED) take_damaged(link, index, header, note);
  await_answer(link, index);
  link_wake(link);
}

uint16_t link_out_confirm_note(const link_channel_t *channel, uint16_t *offset, uint8_t *note) {
  *offset = channel->u.out.confirmed;
  note[0] = channel->u.out.confirmed_blocks;
  link_put_u16(note + 1, channel->u.out.confirmed_bits);
  link_put_u32(note + 3, channel->u.out.confirmed_crc);
  return LINK_CONFIRM_BYTES;
}
