/* What the flash controllers of the STM32F4, L4 and G0 have in common (flash_control.h), with ST's names. */
#ifndef FLASH_CONTROL_REGISTERS_H
#define FLASH_CONTROL_REGISTERS_H

#define FLASH_ACR_PRFTEN (1u << 8)
#define FLASH_ACR_ICEN (1u << 9)
#define FLASH_ACR_ICRST (1u << 11)
#define FLASH_CR_PG (1u << 0)
#define FLASH_CR_STRT (1u << 16)
#define FLASH_CR_LOCK (1u << 31)

#endif
