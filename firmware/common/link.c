#include "link.h"

#define BITS_PER_BYTE_ON_WIRE 10u

static uint16_t frame_length(uint32_t bytes_left) {
  return (uint16_t)(bytes_left < FRAME_MAX_PAYLOAD ? bytes_left : FRAME_MAX_PAYLOAD);
}

/* Receiving */

static bool is_of_tensor(const link_t *link, const frame_header_t *header) {
  return header->tag == link->in_tag && header->length == frame_length(link->in_left);
}

static void reply(link_t *link, uint8_t type, uint8_t tag, uint8_t sequence) {
  link->reply_type = type;
  link->reply_tag = tag;
  link->reply_sequence = sequence;
  link->wake(link->port);
}

static uint8_t *begin_frame(void *owner, const frame_header_t *header) {
  link_t *link = owner;
  bool is_next = header->type == FRAME_DATA && header->sequence == link->in_sequence;
  link->in_stored = is_next && link->receiving && is_of_tensor(link, header);
  if (is_next && !link->receiving) { /* at once, before the sender has filled its window */
    link->in_waited = 1;
    reply(link, FRAME_WAIT, header->tag, header->sequence);
  }
  return link->in_stored ? link->in_data : NULL;
}

/* Says which frame is expected, once; true if it was said. */
static bool refuse(link_t *link) {
  if (!link->receiving || link->in_refused) return false;
  link->in_refused = 1;
  reply(link, FRAME_NAK, link->in_tag, link->in_sequence);
  return true;
}

static void take_frame(link_t *link, const frame_header_t *header) {
  link->in_data += header->length;
  link->in_left -= header->length;
  link->in_sequence++;
  link->in_refused = 0;
  reply(link, FRAME_ACK, header->tag, header->sequence);
  if (link->in_left == 0) link->receiving = 0;
}

static void data_received(link_t *link, const frame_header_t *header) {
  uint8_t age = (uint8_t)(link->in_sequence - header->sequence);
  if (link->in_stored) {
    take_frame(link, header);
  } else if (age == 0) { /* began before it was awaited, or is of another tensor than the schedule says */
    if (refuse(link) && !is_of_tensor(link, header)) link->unexpected(header->tag);
  } else if (age <= LINK_WINDOW) { /* taken before: its ACK was lost or came too late */
    reply(link, FRAME_ACK, header->tag, (uint8_t)(link->in_sequence - 1));
  } else {
    refuse(link);
  }
}

/* Sending */

static void end_sending(link_t *link) {
  link->sending = 0;
  link->released = 0;
  link->held = 0;
  link->flowing = 0;
}

/* While the sender is held, the one frame that is sent again is a question and no repetition. */
static void go_back(link_t *link) {
  link->quiet_ms = 0;
  link->out_next = link->out_base;
  if (!link->held && link->repeats < UINT8_MAX) link->repeats++;
  if (++link->stalls > LINK_MAX_STALLS) {
    link->failed = 1;
    end_sending(link);
  } else {
    link->wake(link->port);
  }
}

/* Takes the next `count` frames as delivered. */
static void advance(link_t *link, uint8_t count) {
  link->out_base = (uint16_t)(link->out_base + count);
  link->out_sequence = (uint8_t)(link->out_sequence + count);
  if (link->out_next < link->out_base) link->out_next = link->out_base;
  link->stalls = 0;
  link->quiet_ms = 0;
  if (link->out_base == link->out_frames) {
    end_sending(link);
  } else {
    link->wake(link->port);
  }
}

/* The frame that asks counts as under way, so that the next one leaves after a time-out. */
static void hold(link_t *link) {
  link->held = 1;
  link->released = 0;
  link->flowing = 0;
  link->stalls = 0;
  link->quiet_ms = 0;
  link->out_next = (uint16_t)(link->out_base + 1);
}

/* The wait ends when the tensor begins to flow: the rest of a question may have to leave before. */
static void release(link_t *link) {
  if (!link->held) return;
  link->out_next = link->out_base;
  link->quiet_ms = 0;
  link->stalls = 0;
  link->released = 1;
  link->wake(link->port);
}

static void begin_flow(link_t *link) {
  link->held = 0;
  link->flowing = 1;
}

static void wait_received(link_t *link, const frame_header_t *header) {
  if (link->sending && header->tag == link->out_tag && header->sequence == link->out_sequence) hold(link);
}

static void answer_received(link_t *link, const frame_header_t *header) {
  if (!link->sending || header->tag != link->out_tag) return;
  uint8_t first_missing = (uint8_t)(header->sequence + (header->type == FRAME_ACK));
  uint8_t delivered = (uint8_t)(first_missing - link->out_sequence);
  if (delivered > link->out_high - link->out_base) return; /* of an older frame */
  release(link);
  if (delivered) advance(link, delivered);
  if (link->sending && header->type == FRAME_NAK && link->out_next > link->out_base) go_back(link);
}

static void end_frame(void *owner, const frame_header_t *header, bool crc_good) {
  link_t *link = owner;
  if (!crc_good) {
    refuse(link);
  } else if (header->type == FRAME_DATA) {
    data_received(link, header);
  } else if (header->type == FRAME_ACK || header->type == FRAME_NAK) {
    answer_received(link, header);
  } else if (header->type == FRAME_WAIT) {
    wait_received(link, header);
  }
}

static bool begin_next_frame(void *owner) {
  link_t *link = owner;
  if (link->reply_type) {
    frame_header_t header = {
        .type = link->reply_type, .tag = link->reply_tag, .sequence = link->reply_sequence, .length = 0};
    link->reply_type = 0;
    frame_transmit(&link->transmitter, &header, NULL);
    return true;
  }
  uint8_t window = link->flowing || link->released ? LINK_WINDOW : 1;
  if (!link->sending || link->out_next == link->out_frames || link->out_next - link->out_base >= window) {
    return false;
  }
  if (link->released) begin_flow(link);
  link->released = 0;
  uint32_t offset = (uint32_t)link->out_next * FRAME_MAX_PAYLOAD;
  frame_header_t header = {.type = FRAME_DATA,
                           .tag = link->out_tag,
                           .sequence = (uint8_t)(link->out_sequence + (link->out_next - link->out_base)),
                           .length = frame_length(link->out_bytes - offset)};
  frame_transmit(&link->transmitter, &header, link->out_data + offset);
  link->out_next++;
  if (link->out_high < link->out_next) link->out_high = link->out_next;
  return true;
}

void link_begin(link_t *link, uint32_t baud, void *port, void (*wake)(void *port), void (*unexpected)(uint8_t tag)) {
  uint32_t window_bytes = LINK_WINDOW * (FRAME_MAX_PAYLOAD + FRAME_OVERHEAD_BYTES);
  link->timeout_ms = LINK_TIMEOUT_MS + window_bytes * BITS_PER_BYTE_ON_WIRE * 1000u / baud;
  link->port = port;
  link->wake = wake;
  link->unexpected = unexpected;
  frame_receiver_begin(&link->receiver, link, begin_frame, end_frame);
  frame_transmitter_begin(&link->transmitter, link, begin_next_frame);
  link_reset(link);
}

void link_reset(link_t *link) {
  frame_receiver_reset(&link->receiver);
  frame_transmitter_reset(&link->transmitter);
  link->reply_type = 0;
  link->receiving = 0;
  link->in_sequence = 0;
  link->in_waited = 0;
  end_sending(link);
  link->failed = 0;
  link->out_sequence = 0;
}

void link_receive(link_t *link, uint8_t tag, uint8_t *data, uint32_t bytes) {
  link->in_tag = tag;
  link->in_data = data;
  link->in_left = bytes;
  link->in_refused = 0;
  link->receiving = 1;
  if (link->in_waited) refuse(link);
  link->in_waited = 0;
}

void link_send(link_t *link, uint8_t tag, const uint8_t *data, uint32_t bytes) {
  link->out_tag = tag;
  link->out_data = data;
  link->out_bytes = bytes;
  link->out_frames = (uint16_t)((bytes + FRAME_MAX_PAYLOAD - 1) / FRAME_MAX_PAYLOAD);
  link->out_base = 0;
  link->out_next = 0;
  link->out_high = 0;
  link->stalls = 0;
  link->repeats = 0;
  link->quiet_ms = 0;
  link->failed = 0;
  link->sending = 1;
  link->released = 0;
  link->held = 0;
  link->flowing = 1;
  link->wake(link->port);
}

void link_tick(link_t *link) {
  frame_receiver_tick(&link->receiver);
  if (link->sending && ++link->quiet_ms >= link->timeout_ms) go_back(link);
}
