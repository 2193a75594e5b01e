/* The flash controllers of the STM32L5 and U5 for code that is not secure, with ST's names. */
#ifndef FLASH_NOT_SECURE_REGISTERS_H
#define FLASH_NOT_SECURE_REGISTERS_H

#include <stdint.h>

typedef struct {
  volatile uint32_t ACR;
  volatile uint32_t reserved_0;
  volatile uint32_t NSKEYR; /* 0x08 */
  volatile uint32_t reserved_1[5];
  volatile uint32_t NSSR; /* 0x20 */
  volatile uint32_t reserved_2;
  volatile uint32_t NSCR; /* 0x28 */
  volatile uint32_t reserved_3;
  volatile uint32_t ECCR; /* 0x30 */
  volatile uint32_t reserved_4[3];
  volatile uint32_t OPTR; /* 0x40 */
} FLASH_TypeDef;

#define FLASH_OPTR_TZEN (1u << 31)

#endif
