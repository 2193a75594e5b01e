#include "reset.h"

#include <stdbool.h>

#include "device.h"

#define KEPT_KEY 0x7E57B007u
#define AIRCR_KEY (0x05FAu << 16)

uint8_t reset_cause;
uint32_t reset_count;

/* Nobody clears them: they survive all resets that keep the RAM, and then match. */
static uint32_t kept_count __attribute__((section(".noinit")));
static uint32_t kept_check __attribute__((section(".noinit")));

/* The pin is pulled by all causes, and the supervisor of the supply reports every dip: one that kept the RAM was none
 * of power-up. */
static uint8_t cause_of(uint32_t flags, bool is_kept) {
  if (flags & RESET_FLAGS_WATCHDOG) return RESET_WATCHDOG;
  if (flags & RESET_FLAGS_SOFTWARE) return RESET_SOFTWARE;
  if (flags & RESET_FLAGS_POWER) return is_kept ? RESET_BROWN_OUT : RESET_POWER;
  return flags & RESET_FLAGS_PIN ? RESET_PIN : RESET_UNKNOWN;
}

void reset_begin(void) {
  bool is_kept = (kept_count ^ kept_check) == KEPT_KEY;
  reset_cause = cause_of(RESET_FLAGS, is_kept);
  RESET_FLAGS |= RESET_FLAGS_CLEAR;
  kept_count = is_kept ? kept_count + 1u : 1u;
  kept_check = kept_count ^ KEPT_KEY;
  reset_count = kept_count;
}

_Noreturn void reset_now(void) {
  __DSB();
  SCB->AIRCR = AIRCR_KEY | SCB_AIRCR_SYSRESETREQ_Msk;
  for (;;) {
  }
}
