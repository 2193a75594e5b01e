/* The network's input from bytes of MLPerf Tiny's data sets (docs/reference/mlperf.md): bytes that stand for other
 * numbers, float32 values, or the bytes of the input itself. It lies in its buffer beside the arena, from which every
 * inference takes it.
 */
#ifndef MLPERF_INPUT_H
#define MLPERF_INPUT_H

#include <stdint.h>

/* Bytes of the data set that make an input. */
uint32_t mlperf_input_bytes(void);

/* Bytes of it that were taken, and the CRC-32 of the input that they made. */
extern uint32_t mlperf_input_taken;
extern uint32_t mlperf_input_crc;

void mlperf_input_begin(void);

/* Takes the next byte, while some are missing. */
void mlperf_input_take(uint8_t byte);

/* A byte that was taken; of several that make the same input the first one. */
uint8_t mlperf_input_byte(uint32_t index);

/* A value of float32 input, in steps of 2^-MLPERF_STEP_BITS. */
enum { MLPERF_STEP_BITS = 16 };
int32_t mlperf_input_real(uint32_t index);

#endif
