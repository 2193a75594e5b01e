/* Facts of a board for the wiring test: the definitions are in the generated src/board_index.c. */
#ifndef WIRING_H
#define WIRING_H

#include <stdint.h>

#include "device.h"

typedef struct {
  GPIO_TypeDef *port;
  uint32_t number;
} wiring_pin_t;

extern const wiring_pin_t wiring_tx_pins[]; /* by the indices of the links */

#endif
