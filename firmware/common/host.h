/* The host port: replies to requests from the receive interrupt, and sends events. */
#ifndef HOST_H
#define HOST_H

#include <stdbool.h>
#include <stdint.h>

void host_begin(uint32_t uart_clock_hz);

/* Of the host's UART. */
void host_interrupt(void);

/* True while something can time out: host_tick is to be called once a millisecond. */
bool host_is_busy(void);
void host_tick(void);

#ifdef STOP_MODE
/* Whether bytes are leaving; whether the receiver listens. */
bool host_is_sending(void);
void host_listen(bool does);
#endif

#endif
