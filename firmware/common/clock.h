/* The clocks: raised once to what the board's file says, or left where reset put them. */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
  uint32_t core_hz;
  uint16_t pll_m;
  uint16_t pll_n;
  uint16_t pll_r; /* divider to the system clock: the P output on F4 and H7 */
  uint8_t ahb_divider;
  uint8_t apb1_divider;
  uint8_t apb2_divider;
  uint8_t flash_wait_states;
  uint8_t vos;       /* as ST numbers it: scale, range or VOS */
  uint8_t overdrive; /* F446: over-drive; H743: VOS1 becomes VOS0 */
  uint8_t boost;     /* L4+: range 1 boost */
  uint8_t vddio2;    /* L4: port G has a supply of its own that has to be declared valid */
} clock_settings_t;

extern const clock_settings_t board_clock;

extern bool clock_ok;          /* the core runs at board_clock.core_hz */
extern uint32_t clock_core_hz; /* that it runs at */

void clock_begin(void);

/* Of the family: raises the clocks. On failure the core goes on at CLOCK_RESET_HZ with no bus divided. */
bool clock_raise(const clock_settings_t *settings);

/* Waits a bounded time until the bits of `mask` are `value`. */
bool clock_wait(const volatile uint32_t *status, uint32_t mask, uint32_t value);

/* Divider 1, 2, 4, 8 or 16 as the 3-bit fields of RCC have it: 0, 4, 5, 6, 7; as the 4-bit ones: 0, 8, 9, 10, 11. */
uint32_t clock_apb_field(uint32_t divider);
uint32_t clock_ahb_field(uint32_t divider);

#endif
