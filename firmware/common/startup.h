/* The first code that runs. */
#ifndef STARTUP_H
#define STARTUP_H

void startup_reset(void);

#endif
