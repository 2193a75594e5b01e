/* In a library: there is no host. */
#ifndef HOST_EVENTS_H
#define HOST_EVENTS_H

#include <stdint.h>

static inline void host_tell_error(uint8_t code, uint32_t detail) {
  (void)code;
  (void)detail;
}

#endif
