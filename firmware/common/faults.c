#include "faults.h"

#include <stdint.h>

#include "host.h"
#include "interrupts.h"

#define STACKED_PC 6 /* r0-r3, r12, lr, pc, xpsr */

_Noreturn void faults_report(const uint32_t *stacked);

_Noreturn void faults_report(const uint32_t *stacked) {
  __disable_irq();
  host_send_fault(stacked[STACKED_PC]);
  for (;;) {
  }
}

/* Passes on the stack pointer at exception entry; the prologue of a normal function would change it. */
__attribute__((naked)) void faults_handler(void) {
  __asm volatile(
      "mrs r0, msp\n"
      "ldr r1, =faults_report\n"
      "bx r1\n"
      ".ltorg\n");
}
