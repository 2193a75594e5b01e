#include "frames.h"

#define CRC_START 0xFFFFu

/* Receiver: the position of the next byte in its frame. */
enum { AT_SYNC, AT_TYPE, AT_TAG, AT_SEQUENCE, AT_LENGTH_LOW, AT_LENGTH_HIGH, AT_PAYLOAD, AT_CRC_LOW, AT_CRC_HIGH };

/* Transmitter: the next byte to send. Header bytes count from 1, so that zero is idle. */
enum { SEND_NOTHING, SEND_HEADER, SEND_PAYLOAD = SEND_HEADER + FRAME_HEADER_BYTES, SEND_CRC_LOW, SEND_CRC_HIGH };

void frame_receiver_begin(frame_receiver_t *receiver, void *owner,
                          uint8_t *(*begin)(void *, const frame_header_t *),
                          uint8_t *(*go_on)(void *, const frame_header_t *),
                          void (*end)(void *, const frame_header_t *, bool)) {
  receiver->owner = owner;
  receiver->begin = begin;
  receiver->go_on = go_on;
  receiver->end = end;
  frame_receiver_reset(receiver);
}

void frame_receiver_reset(frame_receiver_t *receiver) { receiver->position = AT_SYNC; }

bool frame_receiver_is_busy(const frame_receiver_t *receiver) { return receiver->position != AT_SYNC; }

void frame_receiver_tick(frame_receiver_t *receiver) {
  if (receiver->position == AT_SYNC) return;
  uint8_t quiet_ms = (uint8_t)(receiver->quiet_ms + 1);
  receiver->quiet_ms = quiet_ms;
  if (quiet_ms >= FRAME_QUIET_MS) frame_receiver_reset(receiver);
}

static void begin_payload(frame_receiver_t *receiver) {
  if (receiver->header.length > FRAME_MAX_PAYLOAD) {
    receiver->position = AT_SYNC;
    return;
  }
  uint16_t length = receiver->header.length;
  receiver->remaining = length < FRAME_HEAD_BYTES ? length : FRAME_HEAD_BYTES;
  receiver->rest = (uint16_t)(length - receiver->remaining);
  receiver->destination = receiver->begin(receiver->owner, &receiver->header);
  receiver->position = receiver->remaining ? AT_PAYLOAD : AT_CRC_LOW;
}

static void receive_header(frame_receiver_t *receiver, uint8_t byte) {
  receiver->crc = frame_crc(receiver->position == AT_TYPE ? CRC_START : receiver->crc, byte);
  switch (receiver->position++) {
    case AT_TYPE: receiver->header.type = byte; break;
    case AT_TAG: receiver->header.tag = byte; break;
    case AT_SEQUENCE: receiver->header.sequence = byte; break;
    case AT_LENGTH_LOW: receiver->header.length = byte; break;
    default:
      receiver->header.length = (uint16_t)(receiver->header.length | byte << 8);
      begin_payload(receiver);
  }
}

static void end_part(frame_receiver_t *receiver) {
  receiver->remaining = receiver->rest;
  receiver->rest = 0;
  if (receiver->remaining) {
    receiver->destination = receiver->go_on(receiver->owner, &receiver->header);
  } else {
    receiver->position = AT_CRC_LOW;
  }
}

/* Payload is tested first since it is time-critical: at 3 Mbaud and 64 MHz a byte takes 213 cycles. */
void frame_receive(frame_receiver_t *receiver, uint8_t byte) {
  receiver->quiet_ms = 0;
  if (receiver->position == AT_PAYLOAD) {
    receiver->crc = frame_crc(receiver->crc, byte);
    if (receiver->destination) *receiver->destination++ = byte;
    if (--receiver->remaining == 0) end_part(receiver);
  } else if (receiver->position == AT_SYNC) {
    if (byte == FRAME_SYNC) receiver->position = AT_TYPE;
  } else if (receiver->position == AT_CRC_LOW) {
    receiver->crc ^= byte;
    receiver->position = AT_CRC_HIGH;
  } else if (receiver->position == AT_CRC_HIGH) {
    receiver->position = AT_SYNC;
    receiver->end(receiver->owner, &receiver->header, receiver->crc == (uint16_t)(byte << 8));
  } else {
    receive_header(receiver, byte);
  }
}

void frame_transmitter_begin(frame_transmitter_t *transmitter, void *owner, bool (*next)(void *owner)) {
  transmitter->owner = owner;
  transmitter->next = next;
  frame_transmitter_reset(transmitter);
}

void frame_transmit(frame_transmitter_t *transmitter, const frame_header_t *header, const uint8_t *payload) {
  transmitter->header[0] = FRAME_SYNC;
  transmitter->header[1] = header->type;
  transmitter->header[2] = header->tag;
  transmitter->header[3] = header->sequence;
  transmitter->header[4] = (uint8_t)header->length;
  transmitter->header[5] = (uint8_t)(header->length >> 8);
  transmitter->payload = payload;
  transmitter->remaining = header->length;
  transmitter->position = SEND_HEADER;
}

void frame_transmitter_reset(frame_transmitter_t *transmitter) { transmitter->position = SEND_NOTHING; }

static uint8_t next_header_byte(frame_transmitter_t *transmitter) {
  uint8_t byte = transmitter->header[transmitter->position - SEND_HEADER];
  /* The CRC excludes the sync byte, which is the first. */
  transmitter->crc = transmitter->position == SEND_HEADER ? CRC_START : frame_crc(transmitter->crc, byte);
  transmitter->position++;
  if (transmitter->position == SEND_PAYLOAD && transmitter->remaining == 0) transmitter->position = SEND_CRC_LOW;
  return byte;
}

/* Not inlined, so that payload bytes need fewer saved registers. */
__attribute__((noinline)) static bool next_outside_payload(frame_transmitter_t *transmitter, uint8_t *byte) {
  if (transmitter->position == SEND_NOTHING && !(transmitter->next && transmitter->next(transmitter->owner))) {
    return false;
  }
  if (transmitter->position == SEND_CRC_LOW) {
    *byte = (uint8_t)transmitter->crc;
    transmitter->position = SEND_CRC_HIGH;
  } else if (transmitter->position == SEND_CRC_HIGH) {
    *byte = (uint8_t)(transmitter->crc >> 8);
    transmitter->position = SEND_NOTHING;
  } else {
    *byte = next_header_byte(transmitter);
  }
  return true;
}

bool frame_next_byte(frame_transmitter_t *transmitter, uint8_t *byte) {
  if (transmitter->position != SEND_PAYLOAD) return next_outside_payload(transmitter, byte);
  uint8_t next = *transmitter->payload++;
  transmitter->crc = frame_crc(transmitter->crc, next);
  if (--transmitter->remaining == 0) transmitter->position = SEND_CRC_LOW;
  *byte = next;
  return true;
}
