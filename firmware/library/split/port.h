/* The port of the program, as the modules of the library see it. */
#ifndef PORT_H
#define PORT_H

#include <stdint.h>

#include "tinysplit_port.h"

void port_begin(const tinysplit_port_t *port);

void port_send(uint8_t link, const uint8_t *bytes, uint32_t count);
void port_sleep(void);

/* The functions of tinysplit_calls_t. */
void port_received(uint8_t link, const uint8_t *bytes, uint32_t count);
void port_sent(uint8_t link);
void port_tick(void);

#endif
