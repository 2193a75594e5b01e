/* Pins that are high while a layer runs, and while a transfer does: `generate --markers`, which defines MARKERS and
 * writes markers_pins.h. Otherwise nothing of this is in the program. A pin is set and cleared by one store each.
 */
#ifndef MARKERS_H
#define MARKERS_H

#ifdef MARKERS
#include "device.h"
#include "markers_pins.h"

#define MARKERS_OUTPUT 1u
#define MARKERS_FASTEST 3u

/* The clocks of the ports are on. Both pins are low first. */
static inline void markers_begin_pin(GPIO_TypeDef *port, uint32_t number) {
  port->BSRR = 1u << (number + 16u);
  port->OSPEEDR |= MARKERS_FASTEST << 2u * number;
  port->PUPDR &= ~(3u << 2u * number);
  port->MODER = (port->MODER & ~(3u << 2u * number)) | MARKERS_OUTPUT << 2u * number;
}

static inline void markers_begin(void) {
  markers_begin_pin(MARKERS_LAYER_PORT, MARKERS_LAYER_PIN);
  markers_begin_pin(MARKERS_TRANSFER_PORT, MARKERS_TRANSFER_PIN);
}

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
