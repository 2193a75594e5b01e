/* The network's input and output, which the board exchanges with the host, each through one buffer: beside the arena,
 * or in it where there is no room.
 */
#ifndef EXCHANGE_H
#define EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "network.h"

extern volatile uint32_t exchange_inputs_taken; /* number of the input that LOAD accepts */
extern volatile uint32_t exchange_outputs_done; /* number of the output that comes next */
extern uint32_t exchange_output_crc;            /* of the newest output */

/* For a new run. */
void exchange_reset(void);

/* Steps. */
bool exchange_take_input(uint32_t record);
bool exchange_give_output(uint32_t record);

/* At the end of an inference: an input that lies in the arena is used now. */
void exchange_end(void);

/* From the host's interrupt; all return an error code, or 0. */

/* Where input `number` goes, from `offset` on. */
uint8_t exchange_load(uint32_t number, uint32_t offset, uint32_t length, uint8_t **to);

/* What went there has come, as the host sent it. */
void exchange_loaded(uint32_t offset, uint32_t length);

/* Input `number` is complete, and is that of `count` inferences from this one on: of several, only where it has a
 * buffer beside the arena, in which it stays. */
uint8_t exchange_start(uint32_t number, uint32_t crc, uint32_t count);

/* Frees the outputs before `number`, and finds part of this one. */
uint8_t exchange_read(uint32_t number, uint32_t offset, uint32_t length, const uint8_t **from);

#endif
