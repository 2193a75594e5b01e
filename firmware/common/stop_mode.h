/* Stop mode: all clocks but that of the RTC are off, RAM and registers stay. An interrupt ends it, of the RTC's wake-up
 * timer on LSI, of a pin of a UART's receiver whose line falls, or of the application. Programs of `generate
 * --low-power stop`, which defines STOP_MODE, have it.
 *
 * LSI may be off by some percent: it is measured by the core's clock while the board is awake.
 */
#ifndef STOP_MODE_H
#define STOP_MODE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
  uint8_t port; /* from 0: A */
  uint8_t line; /* number of the pin */
} stop_pin_t;

/* Generated: what wakes the board. */
typedef struct {
  uint32_t interrupts[2]; /* of the pins and the RTC, as words of NVIC->ISER */
  uint32_t wake_us;       /* from the end of stop mode until the clocks are raised, at most */
  const stop_pin_t *pins; /* of receivers; the first one is the host's */
  uint32_t pin_count;
} stop_settings_t;

extern const stop_settings_t board_stop;

typedef enum {
  STOP_MODE_BY_TIMER,
  STOP_MODE_BY_LINE,
  STOP_MODE_BY_HOST /* by its line */
} stop_mode_end_t;

/* Starts the RTC on LSI, which the application must not set otherwise. */
void stop_mode_begin(void);

/* Whether a stop within `cycles` of the core's clock is worth it, and LSI is known. */
bool stop_mode_pays(uint64_t cycles);

/* After that: stops until an interrupt, and is back before `cycles` are over at the latest, with the clocks as before,
 * and the cycle counter and ticker_ms right. To be called with interrupts masked; UARTs neither send nor listen. */
stop_mode_end_t stop_mode_enter(uint64_t cycles);

#endif
