/* The board's part of the network: the definitions are in the generated src/network.c. */
#ifndef NETWORK_H
#define NETWORK_H

#include <stdint.h>

enum { NETWORK_RECEIVE, NETWORK_RUN, NETWORK_SEND };

/* A step of a board, which repeats its steps in order. The steps of all boards follow the order of one list: the
 * layers of the network, each followed by the transfers of its output. Therefore a board only ever waits for an
 * earlier step of this list, and no deadlock is possible.
 */
typedef struct {
  uint8_t kind;
  uint8_t link;   /* index of the link of the transfer */
  uint16_t index; /* number of the layer from 1, or of the cut from 0, in the whole network */
  uint32_t offset; /* of the tensor in the arena, in bytes */
  uint32_t bytes;
  void (*run)(void);
} network_step_t;

enum { NETWORK_TIME_LAYER = 0, NETWORK_TIME_TRANSFER = 1 };

/* A record of READ_TIMES, in its format on the wire. */
typedef struct {
  uint8_t kind;
  uint8_t repeats; /* retransmissions of a transfer */
  uint16_t index;  /* number of the layer, or of the cut */
  uint32_t ticks;
} network_time_t;

extern const network_step_t network_steps[];
extern const uint16_t network_step_count;

extern const uint32_t network_project_hash;
extern const uint8_t network_board_index;
extern const uint32_t network_input_bytes; /* of the network's input; 0 on boards that do not read it */
extern const uint32_t network_input_offset;
extern const uint32_t network_output_bytes; /* of the network's output; 0 on boards that do not compute it */
extern const uint32_t network_output_offset;

extern uint8_t network_arena[];

/* One record per layer and per sent tensor, in the order of the steps. */
extern network_time_t network_times[];
extern const uint16_t network_time_count;

#endif
