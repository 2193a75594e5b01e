#include "faults.h"

#include <stdbool.h>
#include <stdint.h>

#include "device.h"
#include "error_codes.h"
#include "host_events.h"
#include "interrupts.h"
#include "stack.h"

_Noreturn void faults_report(uint32_t program_counter);

/* A push that the MPU has refused leaves the stack pointer where it was. ARMv6-M does not tell the address: there the
 * frame of the fault, below a stack pointer so near to the end, overwrites the guard word or does not fit.
 */
static bool is_below_stack(void) {
#if __CORTEX_M >= 3
  uint32_t address = SCB->MMFAR; /* before it loses its validity */
  bool is_known = SCB->CFSR & SCB_CFSR_MMARVALID_Msk;
  return is_known && address >= (uintptr_t)_spare_start && address < (uintptr_t)_stack_start;
#else
  return false;
#endif
}

/* With the watchdog, the board resets itself later. */
_Noreturn void faults_report(uint32_t program_counter) {
  __disable_irq();
  bool has_overflowed = !stack_is_intact() || is_below_stack();
  host_tell_fault(has_overflowed ? ERROR_STACK_OVERFLOW : ERROR_FAULT, program_counter);
  for (;;) {
  }
}

/* Switches the MPU off, which a handler of an interrupt still has on, and passes on the stacked program counter, the
 * seventh word at the stack pointer of the exception. If that has left the stack, the MPU has kept the frame from being
 * written: the program counter is not known, the spare stack below the stack is used, and the guard word is
 * overwritten. Naked: the prologue of a normal function would already use the stack.
 */
__attribute__((naked)) void faults_handler(void) {
  __asm volatile(
      "ldr r2, =0xE000ED94\n" /* MPU_CTRL */
      "movs r0, #0\n"
      "str r0, [r2]\n"
      "dsb\n"
      "isb\n"
      "mov r1, sp\n"
      "ldr r2, =_stack_start\n"
      "cmp r1, r2\n"
      "bhs 1f\n"
      "mov sp, r2\n"
      "str r0, [r2]\n"
      "b 2f\n"
      "1:\n"
      "ldr r0, [r1, #24]\n"
      "2:\n"
      "ldr r2, =faults_report\n"
      "bx r2\n"
      ".ltorg\n");
}
