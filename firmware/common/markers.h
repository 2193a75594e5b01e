/* Pins that are high while a layer runs, and while a transfer does: `generate --markers`, which defines MARKERS and
 * writes markers_pins.h. Otherwise nothing of this is in the program. A pin is set and cleared by one store each.
 */
#ifndef MARKERS_H
#define MARKERS_H

#ifdef MARKERS
#include "device.h"
#include "markers_pins.h"

static inline void markers_begin_layer(void) { MARKERS_LAYER_PORT->BSRR = 1u << MARKERS_LAYER_PIN; }
static inline void markers_end_layer(void) { MARKERS_LAYER_PORT->BSRR = 1u << (MARKERS_LAYER_PIN + 16u); }
static inline void markers_begin_transfer(void) { MARKERS_TRANSFER_PORT->BSRR = 1u << MARKERS_TRANSFER_PIN; }
static inline void markers_end_transfer(void) { MARKERS_TRANSFER_PORT->BSRR = 1u << (MARKERS_TRANSFER_PIN + 16u); }

#else

static inline void markers_begin_layer(void) {}
static inline void markers_end_layer(void) {}
static inline void markers_begin_transfer(void) {}
static inline void markers_end_transfer(void) {}

#endif

#endif
