/* The board's part of the network: the definitions are in the generated src/network.c. */
#ifndef NETWORK_H
#define NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a step does, and what its time record measures: all numbers are those of the wire. */
enum {
  NETWORK_RUN,
  NETWORK_SEND,
  NETWORK_RECEIVE, /* measured: the copy out of its stage */
  NETWORK_INPUT,
  NETWORK_OUTPUT,
  NETWORK_GRANT, /* lets a tensor come, for which a NETWORK_RECEIVE waits; not measured */
  NETWORK_SENT,  /* waits until the tensor of a NETWORK_SEND has left; not measured */
  NETWORK_SHIFT_POS = 4 /* in the kind of a record */
};

/* A tensor that comes or goes. `stage` is the offset of its buffer beside the arena, which lets the board compute while
 * the tensor is under way; it equals `offset` where there is none. Both count in bytes from the start of network_arena.
 */
typedef struct {
  uint32_t offset;
  uint32_t stage;
  uint32_t bytes;
} network_tensor_t;

/* A transfer to or from a neighbour. */
typedef struct network_transfer {
  bool (*take)(const struct network_transfer *transfer); /* the function of its step, in transfers.h or row_stream.h */
  network_tensor_t tensor;
  uint8_t link;    /* index */
  uint8_t channel; /* number of the cut */
  uint16_t record; /* index in network_times */
} network_transfer_t;

/* A step of a board, which repeats its steps in order. The steps of all boards follow the order of one list: the
 * layers of the network, each followed by the transfers of its output. Therefore a board only ever waits for an
 * earlier step of this list, and no deadlock is possible.
 */
typedef struct {
  uint8_t kind;
  uint16_t index; /* number of the layer from 1, or of the cut from 0, in the whole network */
  union {
    void (*run)(void);
    const network_transfer_t *transfer;
  } what;
} network_step_t;

/* A record of READ_TIMES, in its format on the wire. */
typedef struct {
  uint8_t kind;    /* and the shift */
  uint8_t repeats; /* retransmissions of a transfer */
  uint16_t index;  /* of the step */
  uint32_t ticks;  /* times two to the power of the shift */
} network_time_t;

/* Sets the states that layers keep from one inference to the next to 0. */
void network_begin_run(void);

extern const network_step_t network_steps[];
extern const uint16_t network_step_count;

extern const uint32_t network_project_hash;
extern const uint8_t network_board_index;

/* What the program is, a JSON text. */
extern const char *const network_note;
extern const uint16_t network_note_bytes;

/* Of the network; without bytes on boards that do not read it. */
extern const network_tensor_t network_input;
extern const network_tensor_t network_output;

/* Time-out of the watchdog, 0: none. */
extern const uint16_t network_watchdog_ms;
extern const bool network_has_long_layers; /* the cycle counter may wrap around while one runs */

extern uint8_t network_arena[];
extern uint8_t network_near[]; /* tensors, scratch memory and constants next to the core, if the arena is not there */

/* Where it lies: in firmware in a section of its own, in a library (firmware/library) as other variables do. */
#ifndef NETWORK_ARENA
#define NETWORK_ARENA __attribute__((section(".arena"), aligned(4)))
#endif

/* One record per step, in the order of the steps. */
extern network_time_t network_times[];

/* When each step ended, by the low half of the cycle counter; noted while times_keep_clock. */
extern uint32_t network_ended[];

/* Ticks that interrupts of the links took during each step; noted with network_ended. */
extern uint32_t network_link_ticks[];

static inline bool network_is_staged(const network_tensor_t *tensor) { return tensor->stage != tensor->offset; }

#endif
