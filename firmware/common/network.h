/* What the generated src/network.c says about the network's part on this board. */
#ifndef NETWORK_H
#define NETWORK_H

#include <stdint.h>

enum { NETWORK_RECEIVE, NETWORK_RUN, NETWORK_SEND };

/* What a board does next; it takes its steps in order, again and again. The steps of all boards together are in the order
 * of one list: the layers of the network, each followed by the tensors that leave after it. So a board that waits for
 * another one waits for an earlier step of that list, and never in a circle.
 */
typedef struct {
  uint8_t kind;
  uint8_t link;   /* index of the link that the tensor takes */
  uint16_t index; /* of a layer its number, from 1; of a tensor its cut, from 0: both over the whole network */
  uint32_t offset; /* of the tensor in the arena */
  uint32_t bytes;
  void (*run)(void);
} network_step_t;

enum { NETWORK_TIME_LAYER = 0, NETWORK_TIME_TRANSFER = 1 };

/* A record of READ_TIMES, as it goes over the wire. */
typedef struct {
  uint8_t kind;
  uint8_t repeats; /* of a transfer: how often its sender had to go back */
  uint16_t index;  /* layer number, or cut */
  uint32_t ticks;
} network_time_t;

extern const network_step_t network_steps[];
extern const uint16_t network_step_count;

extern const uint32_t network_project_hash;
extern const uint8_t network_board_index;
extern const uint32_t network_input_bytes; /* of the whole network; 0 on a board that does not read its input */
extern const uint32_t network_input_offset;
extern const uint32_t network_output_bytes; /* of the whole network; 0 on a board that does not end */
extern const uint32_t network_output_offset;

extern uint8_t network_arena[];

/* One record for every layer and for every tensor that leaves over a link, in the order of the schedule. */
extern network_time_t network_times[];
extern const uint16_t network_time_count;

#endif
