/* The stack: the guard word at its lower end is overwritten when it has overflowed, and words that it never reached
 * keep the pattern that they have from the start. Below it lies the spare stack, that of the fault handler.
 */
#ifndef STACK_H
#define STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "device.h"

#define STACK_GUARD 0x57AC4E4Du
#define STACK_UNUSED 0x57ACF4EEu
enum { STACK_FRAME_WORDS = 32 }; /* room for the frame of main() below its address */

extern volatile uint32_t _spare_start[], _stack_start[], _estack[]; /* of the linker script */

/* Fills all of the stack below the caller's frame; interrupts that use it begin later. */
static inline void stack_begin(void) {
  volatile uint32_t *const frame = __builtin_frame_address(0);
  _stack_start[0] = STACK_GUARD;
  for (volatile uint32_t *word = _stack_start + 1; word < frame - STACK_FRAME_WORDS; word++) *word = STACK_UNUSED;
}

static inline uint32_t stack_bytes(void) { return (uint32_t)((uintptr_t)_estack - (uintptr_t)_stack_start); }

/* The most bytes that the stack has had since the start. */
static inline uint32_t stack_used_bytes(void) {
  volatile const uint32_t *word = _stack_start + 1;
  while (word < _estack && *word == STACK_UNUSED) word++;
  return (uint32_t)((uintptr_t)_estack - (uintptr_t)word);
}

static inline bool stack_is_intact(void) { return _stack_start[0] == STACK_GUARD; }

/* Enters the fault handler, by an exception that nobody else uses, if the stack has overflowed. */
static inline void stack_check(void) {
  if (!stack_is_intact()) SCB->ICSR = SCB_ICSR_PENDSVSET_Msk;
}

#endif
