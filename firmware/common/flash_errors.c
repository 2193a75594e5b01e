#include "flash_errors.h"

#include "device.h"

#if defined(FLASH_ECCR_ECCD) /* RM0444, RM0351, RM0432: section FLASH ECC register */

#ifndef FLASH_ERRORS_DETECTED /* the H5 has a register for each kind */
#define FLASH_ERRORS_CORRECTED FLASH->ECCR
#define FLASH_ERRORS_DETECTED FLASH->ECCR
#endif

static volatile flash_errors_t watched;

bool flash_errors_note(void);
void NMI_Handler(void);

/* A corrected error that is still flagged would keep the next one from raising the NMI. */
flash_errors_t flash_errors_begin(const void *start, uint32_t bytes) {
  flash_errors_t before = watched;
  uint32_t first = (uint32_t)(uintptr_t)start & ~(FLASH_CORRECTED_BYTES - 1u);
  FLASH_ERRORS_CORRECTED = FLASH_ECCR_ECCC;
  watched = (flash_errors_t){.start = first, .bytes = (uint32_t)(uintptr_t)start + bytes - first};
  return before;
}

bool flash_errors_end(flash_errors_t before) {
  (void)FLASH_ERRORS_DETECTED; /* behind the reads: their NMI is there */
  __DSB();
  __ISB();
  bool has_failed = watched.has_failed;
  watched = before;
  return has_failed;
}

/* Whether the NMI is about a word that is watched. The bank is not looked at: no code lies at the same place in
 * another. */
bool flash_errors_note(void) {
  uint32_t found = FLASH_ERRORS_DETECTED;
  uint32_t distance = (found * FLASH_FAILED_UNIT - watched.start) & FLASH_FAILED_MASK;
  if (!(found & FLASH_ECCR_ECCD) || distance >= watched.bytes) return false;
  FLASH_ERRORS_DETECTED = FLASH_ECCR_ECCD; /* clears it */
  watched.has_failed = true;
  return true;
}

/* Naked, because faults_handler looks for the frame of the exception at the stack pointer. */
__attribute__((naked)) void NMI_Handler(void) {
  __asm volatile(
      "push {r4, lr}\n"
      "bl flash_errors_note\n"
      "pop {r1, r2}\n"
      "mov lr, r2\n"
      "cmp r0, #0\n"
      "beq 1f\n"
      "bx lr\n"
      "1:\n"
      "ldr r1, =faults_handler\n"
      "bx r1\n"
      ".ltorg\n");
}

#elif defined(FLASH_SR_DBECCERR) /* RM0433 and RM0468, section Error correction code; Arm DDI 0403, B3.2.8 */

#include "flash_banks.h"

static flash_bank_t *first, *last; /* that the bytes are in */

/* With the priority of a fault and BFHFNMIGN, loads that fail are ignored. */
flash_errors_t flash_errors_begin(const void *start, uint32_t bytes) {
  uint32_t offset = (uint32_t)(uintptr_t)start - FLASH_BANK1_BASE;
  first = flash_bank_at(offset);
  last = flash_bank_at(offset + bytes - 1u);
  __set_FAULTMASK(1);
  SCB->CCR |= SCB_CCR_BFHFNMIGN_Msk;
  first->CCR = FLASH_SR_DBECCERR;
  last->CCR = FLASH_SR_DBECCERR;
  __DSB();
  __ISB();
  return (flash_errors_t){0};
}

bool flash_errors_end(flash_errors_t before) {
  (void)before;
  __DSB();
  bool has_failed = ((first->SR | last->SR) & FLASH_SR_DBECCERR) != 0;
  SCB->CCR &= ~SCB_CCR_BFHFNMIGN_Msk;
  __DSB();
  __ISB();
  __set_FAULTMASK(0);
  return has_failed;
}

#else

flash_errors_t flash_errors_begin(const void *start, uint32_t bytes) {
  return (flash_errors_t){.start = (uint32_t)(uintptr_t)start, .bytes = bytes};
}

bool flash_errors_end(flash_errors_t before) { return before.has_failed; }

#endif
