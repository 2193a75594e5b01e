/* What the flash controllers of the STM32L4 and G0 have in common, which erase pages and correct errors. ST's names. */
#ifndef FLASH_PAGES_REGISTERS_H
#define FLASH_PAGES_REGISTERS_H

#include "flash_erase_registers.h"

#define FLASH_ECCR_ECCC (1u << 30)
#define FLASH_ECCR_ECCD (1u << 31)

#endif
