/* What the generated src/network.c says about the network's part on this board. */
#ifndef NETWORK_H
#define NETWORK_H

#include <stdint.h>

/* In place of a link's index: the tensor comes by LOAD, or is read by READ_OUTPUT. */
#define NETWORK_HOST 0xFFu

typedef struct {
  uint16_t number; /* from 1, over the whole network */
  void (*run)(const void *input, void *output);
  uint32_t input_offset; /* in the arena, as all offsets here */
  uint32_t output_offset;
} network_layer_t;

/* A maximal run of layers on this board; a board runs its sub-models in order, again and again. */
typedef struct {
  uint8_t source;          /* index of the link that the input comes from, or NETWORK_HOST */
  uint8_t source_cut;      /* number of the cut, from 0 over the whole network: the tag of its frames */
  uint8_t destination;     /* as source */
  uint8_t destination_cut; /* as source_cut */
  uint32_t input_offset;
  uint32_t input_bytes;
  uint32_t output_offset;
  uint32_t output_bytes;
  const network_layer_t *layers;
  uint16_t layer_count;
} network_sub_model_t;

enum { NETWORK_TIME_LAYER = 0, NETWORK_TIME_TRANSFER = 1 };

/* A record of READ_TIMES, as it goes over the wire. */
typedef struct {
  uint8_t kind;
  uint8_t repeats; /* of a transfer: how often its sender had to go back */
  uint16_t index;  /* layer number, or cut */
  uint32_t ticks;
} network_time_t;

extern const network_sub_model_t network_sub_models[];
extern const uint8_t network_sub_model_count;

extern const uint32_t network_project_hash;
extern const uint8_t network_board_index;
extern const uint32_t network_input_bytes;  /* of the whole network; 0 on a board that does not begin */
extern const uint32_t network_output_bytes; /* of the whole network; 0 on a board that does not end */

extern uint8_t network_arena[];

/* One record for every layer and for every tensor that leaves over a link, in the order of the schedule. */
extern network_time_t network_times[];
extern const uint16_t network_time_count;

#endif
