/* The guard word below the stack: overwritten when the stack has overflowed. */
#ifndef STACK_H
#define STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "device.h"

#define STACK_GUARD 0x57AC4E4Du

extern volatile uint32_t _stack_start[]; /* of the linker script */

static inline void stack_begin(void) { _stack_start[0] = STACK_GUARD; }

static inline bool stack_is_intact(void) { return _stack_start[0] == STACK_GUARD; }

/* Enters the fault handler, by an exception that nobody else uses, if the stack has overflowed. */
static inline void stack_check(void) {
  if (!stack_is_intact()) SCB->ICSR = SCB_ICSR_PENDSVSET_Msk;
}

#endif
