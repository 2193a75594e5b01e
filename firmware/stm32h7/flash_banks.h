/* The registers of a bank of the STM32H7's flash (RM0433 and RM0468, section FLASH registers). */
#ifndef FLASH_BANKS_H
#define FLASH_BANKS_H

#include "device.h"

typedef struct {
  volatile uint32_t reserved_0;
  volatile uint32_t KEYR; /* 0x04 */
  volatile uint32_t reserved_1;
  volatile uint32_t CR; /* 0x0C */
  volatile uint32_t SR;
  volatile uint32_t CCR; /* clears bits of SR */
} flash_bank_t;

/* That of an offset from the start of the flash: 1 MB each, with registers 256 bytes apart. */
static inline flash_bank_t *flash_bank_at(uint32_t offset) {
  return (flash_bank_t *)(uintptr_t)(FLASH_R_BASE + (offset >> 20) * 0x100u);
}

#endif
