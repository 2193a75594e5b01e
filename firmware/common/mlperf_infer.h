/* The command `infer` of MLPerf Tiny's protocol: inferences one after the other, all with the same input. */
#ifndef MLPERF_INFER_H
#define MLPERF_INFER_H

#include <stdbool.h>
#include <stdint.h>

/* Begins the first run, so that the links are up when the first inference begins. */
void mlperf_infer_begin(void);

/* From the host's interrupt: `warm_ups` and then `count` (at least 1) inferences; `crc` is the CRC-32 of the input. */
void mlperf_infer(uint32_t count, uint32_t warm_ups, uint32_t crc);

bool mlperf_is_inferring(void);

/* From the host's interrupt: gives it up. */
void mlperf_infer_cancel(void);

/* Microseconds since the start; wraps around. */
uint32_t mlperf_us(void);

#endif
