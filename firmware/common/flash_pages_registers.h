/* What the flash controllers of the STM32L4, G4, G0, WB and WL have in common: pages, corrected errors. ST's names. */
#ifndef FLASH_PAGES_REGISTERS_H
#define FLASH_PAGES_REGISTERS_H

#include <stdint.h>

#include "flash_erase_registers.h"

typedef struct {
  volatile uint32_t ACR;
  volatile uint32_t reserved_0;
  volatile uint32_t KEYR; /* 0x08 */
  volatile uint32_t reserved_1;
  volatile uint32_t SR; /* 0x10 */
  volatile uint32_t CR;
  volatile uint32_t ECCR;
  volatile uint32_t reserved_2;
  volatile uint32_t OPTR; /* 0x20 */
} FLASH_TypeDef;

#define FLASH_ECCR_ECCC (1u << 30)
#define FLASH_ECCR_ECCD (1u << 31)

#endif
