/* The network in a library: its arena lies where the program has its other variables. */
#ifndef LIBRARY_NETWORK_H
#define LIBRARY_NETWORK_H

#define NETWORK_ARENA __attribute__((aligned(4)))
#include "network_steps.h"

#endif
