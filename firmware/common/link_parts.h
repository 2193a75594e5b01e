/* What the files of a link share; nobody else includes this. Each calls only those above it here: link_parts.c,
 * link_peer.c, link_in.c, link_out.c, link_speak.c and link_work.c, which is below link.c.
 */
#ifndef LINK_PARTS_H
#define LINK_PARTS_H

/* Nothing in these files runs for each byte: their size counts. */
#pragma GCC optimize("Os")

#include "crc32.h"
#include "link.h"

/* Of a link, as HELLO has it. */
typedef enum {
  LINK_STOPPED,
  LINK_STARTING, /* in a run, and not sure that the peer is, too */
  LINK_RUNNING,
  LINK_JOINING /* the peer has asked to join, the board will when its layer ends */
} link_state_t;

/* link_channel_t.answers and link_t.answers: frames that wait to leave, sent in this order. */
enum {
  LINK_SAY_GRANT = 1,
  LINK_SAY_OFFER = 2,
  LINK_SAY_WAIT = 4,
  LINK_SAY_ACK = 8,
  LINK_SAY_MISSING = 16,
  LINK_SAY_DAMAGED = 32,
  LINK_SAY_CONFIRM = 64,
  LINK_SAY_QUERY = 128
};
enum { LINK_SAY_HELLO = 1, LINK_SAY_HELLO_REPLY = 2 };

enum {
  LINK_SILENCE_MS = 2, /* that ends a frame, and two bytes' time */
  LINK_QUERY_MS = 6,   /* without an answer after the last frame, and four bytes' time */
  LINK_RETRY_MS = 20,  /* more after each question, at most LINK_RETRY_MOST_MS */
  LINK_RETRY_MOST_MS = 100,
  LINK_ATTEMPTS = 5 /* questions without an answer, then as many HELLOs */
};

enum { LINK_MAX_BLOCKS = LINK_MAX_PAYLOAD / LINK_BLOCK_BYTES, LINK_CONFIRM_BYTES = 7 };

/* A range of blocks in DAMAGED and CONFIRM is divided into at most 16 units of one or two blocks. */
typedef struct {
  uint32_t at; /* first byte */
  uint32_t bytes;
  uint32_t unit_bytes;
  uint8_t count;
} link_units_t;

static inline uint32_t link_smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }
static inline uint32_t link_blocks_of(uint32_t bytes) { return (bytes + LINK_BLOCK_BYTES - 1u) / LINK_BLOCK_BYTES; }

bool link_bit(const uint8_t *bits, uint32_t i);
void link_set_bit(uint8_t *bits, uint32_t i);
void link_clear_bit(uint8_t *bits, uint32_t i);

/* First bit set of [from, to); `to` if there is none. */
uint32_t link_find_bit(const uint8_t *bits, uint32_t from, uint32_t to);

/* Time on the wire, rounded up. */
uint32_t link_ms_of(const link_t *link, uint32_t bytes);

static inline const link_channel_plan_t *link_plan(const link_t *link, uint8_t index) {
  return &link->settings->plans[index];
}
static inline link_channel_t *link_at(const link_t *link, uint8_t index) { return &link->settings->channels[index]; }

link_units_t link_units(uint32_t first_block, uint32_t blocks, uint32_t tensor_bytes);

/* CRC-32 of unit `i` of a tensor. */
uint32_t link_unit_crc(const link_units_t *units, const uint8_t *tensor, uint8_t i);

/* CRC of a sequence of CRCs. */
uint32_t link_unit_add(uint32_t crc, uint32_t unit_crc);

/* Index of a channel; LINK_NO_CHANNEL: it does not cross this link in that direction. */
uint8_t link_index(const link_t *link, uint8_t channel, bool is_out);

void link_say(link_t *link, link_channel_t *channel, uint8_t what);
void link_tell(link_t *link, link_event_t event, uint8_t index, uint32_t detail);

/* Forgets both directions; ends the run of this link. */
void link_forget(link_t *link);
void link_fail(link_t *link, uint8_t index, link_failure_t reason);

void link_wake(link_t *link);

/* Of a header that leaves. */
static inline uint8_t link_addresses(const link_t *link) {
  return (uint8_t)(link->settings->peer << 4 | link->settings->identity->board);
}

void link_begin_data(link_t *link, uint8_t index, link_header_t *header, const uint8_t *data);

/* What link_work.c does a piece at a time. */
typedef enum {
  LINK_NO_JOB,
  LINK_MAKE_ANSWER, /* the receiver makes the CRCs of DAMAGED */
  LINK_ANSWER_MADE, /* until DAMAGED leaves */
  LINK_COMPARE,     /* the sender compares them with its own */
  LINK_CHECK        /* the receiver checks what CONFIRM says of them */
} link_job_t;

/* False if another job is under way. */
bool link_work_begin(link_t *link, link_job_t job, uint8_t index, uint32_t first, uint32_t blocks);

/* link_peer.c */
void link_peer_hello(link_t *link, const uint8_t *note);
void link_peer_heard(link_t *link);
void link_peer_ask(link_t *link);
void link_peer_asked(link_t *link);
void link_peer_tick(link_t *link);
bool link_peer_is_sending(const link_t *link); /* which can answer at the end of its frame only */
uint16_t link_peer_note(const link_t *link, uint8_t *note);

/* link_in.c */
void link_in_checked(link_t *link);
void link_in_begin_frame(link_t *link);
void link_in_next_segment(link_t *link);
void link_in_end_frame(link_t *link, bool is_good);
void link_in_damaged(link_t *link); /* a frame that has arrived */
uint16_t link_in_bytes_before(const link_t *link, link_channel_t *channel); /* of ACK and GRANT */
void link_in_note(link_t *link, uint8_t index, const link_header_t *header, const uint8_t *note);
bool link_in_is_checking(const link_t *link, uint8_t index);
void link_in_check(link_t *link, uint8_t index);
uint16_t link_in_missing_note(link_t *link, uint8_t index, uint16_t *offset, uint8_t *note);
uint16_t link_in_damaged_note(link_t *link, uint8_t index, uint16_t *offset, uint8_t *note);

/* link_out.c */
void link_out_compared(link_t *link);
void link_out_note(link_t *link, uint8_t index, const link_header_t *header, const uint8_t *note);
bool link_out_has_data(const link_t *link, uint8_t index);
bool link_out_next_data(link_t *link, uint8_t index);
void link_out_data_left(link_t *link);
void link_out_frame_left(link_t *link);
void link_out_tick(link_t *link, uint8_t index);
uint16_t link_out_confirm_note(const link_channel_t *channel, uint16_t *offset, uint8_t *note);

#endif
