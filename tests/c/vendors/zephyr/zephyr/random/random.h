/* The true signature of what the example uses, for compiling. */
#ifndef ZEPHYR_RANDOM_H
#define ZEPHYR_RANDOM_H

#include <stdint.h>

uint32_t sys_rand32_get(void);

#endif
