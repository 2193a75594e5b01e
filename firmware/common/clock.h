/* The clock tree: set once to the values of the board file, or left as after reset if that fails. */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Frequency of HSE in a project whose PLL it feeds (a compiler flag); 0: HSI feeds the PLL. */
#ifndef CLOCK_HSE_HZ
#define CLOCK_HSE_HZ 0u
#endif

typedef struct {
  uint32_t core_hz;
  uint16_t pll_m;
  uint16_t pll_n;
  uint16_t pll_r; /* divider to the system clock (PLL output P on F4, F7 and H7, R on the others) */
  uint8_t ahb_divider;
  uint8_t apb1_divider;
  uint8_t apb2_divider;
  uint8_t flash_wait_states;
  uint8_t vos;       /* in ST's numbering: voltage scale, range or VOS */
  uint8_t overdrive; /* F446, F7: over-drive; H743: VOS1 becomes VOS0 */
  uint8_t boost;     /* L4+: range 1 boost */
  uint8_t vddio2;    /* L4: PWR_CR2 IOSV, for the separate supply of port G */
} clock_settings_t;

extern const clock_settings_t board_clock;

extern bool clock_ok;          /* whether the core runs at board_clock.core_hz */
extern uint32_t clock_core_hz; /* frequency of the core in Hz */

void clock_begin(void);

/* Defined by each family (clock_family.c). On failure the core stays at CLOCK_RESET_HZ, with all bus dividers 1. */
bool clock_raise(const clock_settings_t *settings);

#endif
