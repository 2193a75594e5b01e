/* The reset handler: initialises .data, .bss and the vector table, then calls main. */
#ifndef STARTUP_H
#define STARTUP_H

void startup_reset(void);

#endif
