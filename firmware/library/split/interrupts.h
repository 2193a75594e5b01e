/* The critical section of the port (tinysplit_port.h). What links have to say begins to leave at its end. */
#ifndef INTERRUPTS_H
#define INTERRUPTS_H

#include <stdint.h>

uint32_t interrupts_lock(void);
void interrupts_unlock(uint32_t before);

#endif
