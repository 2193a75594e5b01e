/* What the modules of a run tell the host: in frames (host_events.c), or as MLPerf Tiny's protocol has it
 * (mlperf_events.c).
 */
#ifndef HOST_EVENTS_H
#define HOST_EVENTS_H

#include <stdint.h>

/* A request that was not executed at once, a `FRAME_` type, is done, or not, for the reason `code`. */
void host_tell_obeyed(uint8_t type, uint8_t sequence, uint8_t code, uint32_t detail);

/* The run has failed, or does not go on. From interrupts, too. */
void host_tell_error(uint8_t code, uint32_t detail);

/* Input `number` is in use and the next one may come; it was damaged on its way. */
void host_tell_taken(uint32_t number);
void host_tell_corrupt(uint32_t number);

/* Output `number` is there. */
void host_tell_done(uint32_t number, uint32_t crc);

/* A fault: leaves by polling, without interrupts. */
void host_tell_fault(uint8_t code, uint32_t program_counter);

#endif
