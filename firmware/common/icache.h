/* The ICACHE of the STM32H5, L5 and U5, which holds code and constants of the flash. */
#ifndef ICACHE_H
#define ICACHE_H

#include "device.h"

static inline void icache_wait(void) {
  while (ICACHE->SR & ICACHE_SR_BUSYF) {
  }
}

/* It is invalidated after a reset. */
static inline void icache_enable(void) {
  icache_wait();
  ICACHE->CR |= ICACHE_CR_EN;
}

static inline void icache_forget(void) {
  ICACHE->CR |= ICACHE_CR_CACHEINV;
  icache_wait();
}

#endif
