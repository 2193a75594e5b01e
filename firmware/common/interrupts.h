/* Critical sections: masking interrupts for a few instructions. */
#ifndef INTERRUPTS_H
#define INTERRUPTS_H

#include "device.h"

static inline uint32_t interrupts_lock(void) {
  uint32_t before = __get_PRIMASK();
  __disable_irq();
  return before;
}

static inline void interrupts_unlock(uint32_t before) { __set_PRIMASK(before); }

#endif
