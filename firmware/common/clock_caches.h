/* The caches of Cortex-M7, which clock_family.c enables. */
#ifndef CLOCK_CACHES_H
#define CLOCK_CACHES_H

#include "device.h"

/* Enabling a data cache throws its lines away: behind stop mode, which leaves caches on, memory would lack them. */
static inline void clock_enable_caches(void) {
#ifdef STOP_MODE
  if (SCB->CCR & SCB_CCR_DC_Msk) return;
#endif
  SCB_EnableICache();
  SCB_EnableDCache();
}

#endif
