/* A link to a neighbour: tensors cross it in both directions at once (docs/understand/protocol.md, "Links"). It knows
 * no hardware.
 *
 * A receiver grants the memory of one tensor; its sender then sends frames back to back, without a window. What is
 * lost or damaged is named by the receiver in blocks of 64 bytes and sent again.
 *
 * All functions are to be called with the link's interrupts held off, or from them. None waits or takes long: CRCs over
 * blocks that have arrived or left are made by link_work, 128 bytes in a call.
 */
#ifndef LINK_H
#define LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "link_wire.h"

enum {
  LINK_VERSION = 2,     /* of the protocol */
  LINK_NO_CHANNEL = 255 /* in events that concern the whole link */
};

#define LINK_BITS_PER_BYTE 10u /* with start and stop bit */

/* One bit for each block of a tensor. */
#define LINK_BITMAP_BYTES(bytes) (((bytes) + 8u * LINK_BLOCK_BYTES - 1u) / (8u * LINK_BLOCK_BYTES))

typedef struct link link_t;

typedef enum {
  LINK_IDLE,
  LINK_OFFERED, /* in: the peer has a tensor and no grant */
  LINK_GRANTED, /* in: may arrive at any time */
  LINK_FULL,    /* in: whole and checked */
  LINK_QUEUED,  /* out: without a grant */
  LINK_MOVING,  /* out: granted, not acknowledged */
  LINK_DONE     /* out: acknowledged */
} link_channel_state_t;

typedef enum {
  LINK_EVENT_RECEIVED, /* channel: its tensor is whole and checked */
  LINK_EVENT_OFFERED,  /* channel: the peer has a tensor for which there is no memory yet */
  LINK_EVENT_STARTED,  /* channel: its tensor begins to leave; detail: bytes before it in the present link_fill */
  LINK_EVENT_SENT,     /* channel: its tensor is acknowledged; detail: frames sent again, at most 255, and 256 times the
                        * bytes that left the peer between the tensor's end and the acknowledgement */
  LINK_EVENT_FAILED,   /* channel or LINK_NO_CHANNEL; detail: link_failure_t */
  LINK_EVENT_ANSWERED, /* after LINK_NO_ANSWER: the peer answers, transfers go on */
  LINK_EVENT_HELLO     /* the peer asks to join a newer run; detail: its number. To be followed by link_join. */
} link_event_t;

/* LINK_NO_ANSWER is reported once and not final: the link goes on asking, so that a tensor which has arrived counts as
 * sent once the wire is whole again. All others end the link's run: it is silent until link_join. */
typedef enum {
  LINK_NO_FAILURE,
  LINK_NO_ANSWER,      /* no frame arrives: no power, wire, or wrong baud rate */
  LINK_PEER_STOPPED,   /* the peer has left the run */
  LINK_PEER_RESTARTED, /* the peer has booted in the middle of the run */
  LINK_OTHER_RUN,      /* the peer is in a newer run */
  LINK_OTHER_PLAN,     /* the peer was generated from another split */
  LINK_OTHER_VERSION,  /* of the protocol */
  LINK_WRONG_BOARD,    /* another board of the plan is wired to this link */
  LINK_CORRUPT         /* the line is too bad: retransmissions are used up, or a tensor does not match its CRC */
} link_failure_t;

/* One tensor of the plan that crosses the link; generated. */
typedef struct {
  uint8_t channel; /* number of the cut in the whole network */
  bool is_out;
  uint8_t frame_share; /* out: a frame has at most so many 256ths of the blocks left; 0: no such limit */
  uint32_t bytes;  /* at least 1, at most 65535 blocks */
  uint8_t *blocks; /* LINK_BITMAP_BYTES(bytes): in: blocks still missing; out: blocks to send again */
} link_channel_plan_t;

/* State of a channel: private to the link but for `state`. */
typedef struct {
  volatile uint8_t state; /* link_channel_state_t */
  uint8_t number;         /* of the tensor under way, or of the last one */
  uint8_t answers;        /* frames without data that wait to leave, a bit each */
  uint8_t flags;
  uint8_t repeats;  /* out: frames sent again */
  uint8_t attempts; /* out: questions without an answer; in: times that the tensor did not match its CRC */
  uint16_t due_ms;  /* out: until the next question, 0: none */
  union {
    uint8_t *to;
    const uint8_t *from;
  } data;
  uint32_t position; /* in: bytes in `crc`; out: bytes that have left once and are in `crc` */
  uint32_t crc;      /* register of the tensor's CRC */
  union {
    struct {
      uint32_t crc;     /* that the tensor shall have */
      uint16_t next;    /* block expected next */
      uint16_t hole;    /* first block of the range of MISSING */
      uint16_t hole_to; /* behind the last one; 0: everything */
      uint32_t left;    /* bytes that had left this board when the tensor was whole */
    } in;
    struct {
      uint32_t ready;          /* bytes of the tensor that may leave */
      uint32_t budget;         /* blocks that may be sent again */
      uint32_t confirmed_crc;  /* of CONFIRM: CRC of the CRCs of its units */
      uint16_t confirmed;      /* first block */
      uint16_t confirmed_bits; /* units that arrived as they were sent */
      uint8_t confirmed_blocks;
      uint8_t granted; /* number of the newest grant */
    } out;
  } u;
} link_channel_t;

/* CRCs over the units of a damaged frame, under way: private to the link. */
typedef struct {
  uint8_t job; /* link_job_t */
  uint8_t index;
  uint8_t number; /* of the tensor */
  uint8_t unit;   /* the next one */
  uint8_t blocks;
  bool is_report_due; /* of a receiver, when it has checked what was confirmed */
  uint16_t first;     /* block */
  uint16_t bits;      /* units that arrived as they were sent */
  uint32_t crc;       /* CRC of the CRCs of these units */
  uint32_t confirmed; /* what it shall be */
  uint16_t crcs[LINK_MAX_UNITS]; /* of DAMAGED: low halves */
} link_work_t;

/* Of this board, for all its links. */
typedef struct {
  uint32_t plan; /* hash of the plan */
  uint32_t boot_count;
  uint8_t board;
  uint8_t reset_cause;
} link_identity_t;

/* One link; generated. */
typedef struct {
  const link_identity_t *identity;
  const link_channel_plan_t *plans;
  link_channel_t *channels; /* as many as plans */
  uint8_t channel_count;
  uint8_t peer; /* board index */
  uint32_t baud;
  uint16_t patience_ms; /* for which the peer may answer nothing and be well: 0 unless its driver polls */
#ifdef STOP_MODE
  uint16_t wake_bytes; /* that the peer loses while it wakes from stop mode */
#endif
  void *port;
  void (*wake)(void *port); /* link_fill has something: called at any time, also from link_fill's caller */
  uint32_t (*left)(const void *port); /* bytes that were filled and have not left */
  void (*event)(link_t *link, link_event_t event, uint8_t channel, uint32_t detail);
} link_settings_t;

typedef struct {
  uint16_t damaged;   /* frames with a right header and a wrong CRC */
  uint16_t lost;      /* frames of which nothing was heard */
  uint16_t repeated;  /* frames sent again */
  uint16_t questions; /* that remained without an answer in time */
} link_counters_t;

struct link {
  const link_settings_t *settings;
  link_parser_t parser;
  link_writer_t writer;
  uint32_t run;           /* 0: none since the reset */
  uint32_t wanted;        /* run that the peer asked for, while `is_joining` */
  uint32_t peer_boot;     /* boot count of the peer */
  uint32_t ahead;         /* bits times 1000 that were filled and have not left the UART */
  uint32_t filling;       /* bytes filled before the frame that leaves, in the present link_fill */
  uint32_t filled;        /* bytes in all */
  uint16_t quiet_ms;      /* since the last byte */
  uint16_t deaf_ms;       /* since the last good frame */
  uint16_t hello_ms;      /* until the next HELLO, 0: none */
  uint16_t hellos;        /* without an answer */
  volatile uint8_t state; /* link_state_t */
  uint8_t is_joining;     /* link_join of `wanted` is to come */
  uint8_t was_heard;      /* a good frame, since link_probe */
  uint8_t failure;        /* link_failure_t */
  uint8_t answers;        /* HELLO frames that wait to leave */
  bool may_speak;         /* something may wait to leave: see link_wake */
  bool may_be_due;        /* a channel may have due_ms */
  bool may_check;         /* blocks may wait for the CRC of their tensor: see link_in_check */
#ifdef STOP_MODE
  uint8_t awake_ms;       /* until the peer may be in stop mode, and this board: see link_awake.h */
  uint16_t waking;        /* bytes to wake the peer that are to leave before the frame */
#endif
  uint8_t refusals;       /* HELLO replies of a peer that does not join */
  uint8_t hearing;        /* index of the channel of the frame that arrives; LINK_NO_CHANNEL: discarded */
  uint8_t speaking;       /* index of the channel of the frame that leaves */
  uint8_t turn;           /* index of the channel whose data leaves, until it has no more */
  uint8_t first_answer;   /* no channel below this index has an answer: boards may have a hundred channels */
  uint8_t moving;         /* channels that are LINK_MOVING */
  uint8_t frame_blocks;   /* longest frame at present */
  uint8_t good_frames;    /* since one was lost */
  link_work_t work;
  link_counters_t counters;
};

/* Stopped; tells the peer that this board has booted. `settings` stays valid. */
void link_begin(link_t *link, const link_settings_t *settings);

/* Forgets both directions and begins a run: frames of other runs are noise from now on. Run numbers grow; the peer is
 * asked to join. */
void link_join(link_t *link, uint32_t run);

/* Stops: answers HELLO and nothing else. Touches no tensor's memory any more. */
void link_leave(link_t *link);

/* Tells the peer of its own accord that this board has booted or stopped, once the peer takes no frame of the past for
 * it. */
void link_announce(link_t *link);

/* Whether the peer is known to be in the run. */
bool link_is_running(const link_t *link);

/* In: the memory for tensor `number` (inference number modulo 256, without a gap) is free until LINK_FULL and as long
 * as the owner likes: the link writes to it only while LINK_GRANTED. */
void link_accept(link_t *link, uint8_t channel, uint8_t *data, uint8_t number);

/* Out: queues tensor `number`; `data` must not change until LINK_DONE, but for bytes behind `ready`. */
void link_send(link_t *link, uint8_t channel, const uint8_t *data, uint8_t number, uint32_t ready);

/* Out: the first `ready` bytes of the tensor that is queued or moving may leave. */
void link_extend(link_t *link, uint8_t channel, uint32_t ready);

/* In: bytes from the tensor's start that have arrived and are checked. */
uint32_t link_received_prefix(const link_t *link, uint8_t channel);

/* In: how often all bytes of the tensor had arrived and did not match its CRC, so that they came again. */
uint32_t link_mismatches(const link_t *link, uint8_t channel);

#ifdef STOP_MODE
/* Stays awake for what wakes this board: the rest of the peer's bytes for that. */
void link_stay_awake(link_t *link);
#endif

/* Out: whether all bytes of a tensor have been filled, and its acknowledgement is to come. */
bool link_awaits_answer(const link_t *link);

link_channel_state_t link_channel_state(const link_t *link, uint8_t channel);

/* Whether the channel has tensor `number`: its memory is granted, or it is queued, or what comes after that. */
bool link_has(const link_t *link, uint8_t channel, uint8_t number);

/* Asks whether the peer is there, if nothing has been heard since the last call; a bad answer comes as an event. For a
 * board that waits for a tensor: a link without a tensor to send asks nothing by itself. */
void link_probe(link_t *link);

/* From the UART driver: bytes that have arrived, any number at a time. */
void link_receive_bytes(link_t *link, const uint8_t *bytes, uint32_t count);

/* For the UART driver: the next bytes to send, at most `room`; 0: none until `wake`. */
uint32_t link_fill(link_t *link, uint8_t *bytes, uint32_t room);

/* To be called by the driver after link_receive_bytes, again and again while it returns true, with what arrives handed
 * over in between: checks what needs more time than handing over has. */
bool link_work(link_t *link);

/* True while something can time out: link_tick is to be called once a millisecond, and the driver hands over all bytes
 * that have arrived before each call. A silence of two byte times and 2 ms ends a frame. */
bool link_is_busy(const link_t *link);
void link_tick(link_t *link);

#endif
