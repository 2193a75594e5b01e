#include "faults.h"

#include <stdint.h>

#include "error_codes.h"
#include "host.h"
#include "interrupts.h"
#include "stack.h"

_Noreturn void faults_report(uint32_t program_counter);

/* With the watchdog, the board resets itself later. */
_Noreturn void faults_report(uint32_t program_counter) {
  __disable_irq();
  host_send_fault(stack_is_intact() ? ERROR_FAULT : ERROR_STACK_OVERFLOW, program_counter);
  for (;;) {
  }
}

/* Passes on the stacked program counter, the seventh word at the stack pointer of the exception. When that has left the
 * stack, the spare stack below it is used; the guard word between them is overwritten then. Naked: the prologue of a
 * normal function would already use the stack.
 */
__attribute__((naked)) void faults_handler(void) {
  __asm volatile(
      "mrs r1, msp\n"
      "movs r0, #0\n"
      "ldr r2, =_spare_start\n"
      "cmp r1, r2\n"
      "blo 1f\n"
      "ldr r0, [r1, #24]\n"
      "ldr r2, =_stack_start\n"
      "cmp r1, r2\n"
      "bhs 2f\n"
      "1:\n"
      "ldr r2, =_stack_start\n"
      "msr msp, r2\n"
      "movs r3, #0\n"
      "str r3, [r2]\n"
      "2:\n"
      "ldr r2, =faults_report\n"
      "bx r2\n"
      ".ltorg\n");
}
