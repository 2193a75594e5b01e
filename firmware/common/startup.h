/* The reset handler: initialises .data, .bss, the vector table and the MPU, then calls main. */
#ifndef STARTUP_H
#define STARTUP_H

void startup_reset(void);

#endif
