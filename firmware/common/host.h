/* The host port: replies to requests from the receive interrupt, and sends events. */
#ifndef HOST_H
#define HOST_H

#include <stdint.h>

enum {
  HOST_UNKNOWN_TYPE = 1,
  HOST_BAD_LENGTH = 2,
  HOST_BAD_RANGE = 3,
  HOST_NOT_FIRST = 4,
  HOST_BUSY = 5,
  HOST_LINK_TIMEOUT = 6,
  HOST_LINK_UNEXPECTED = 7,
  HOST_BAD_CRC = 8,
  HOST_FAULT = 10,
};

void host_begin(uint32_t uart_clock_hz);

/* To be called once a millisecond. */
void host_tick(void);

void host_send_error(uint8_t code, uint32_t detail);

/* Reports a fault by polling, without interrupts. */
void host_send_fault(uint32_t program_counter);

#endif
