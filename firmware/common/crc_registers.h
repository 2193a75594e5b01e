/* The CRC unit; that of the STM32G0, F7, L4 and H7 can reverse bits (crc_v2_registers.h). ST's names. */
#ifndef CRC_REGISTERS_H
#define CRC_REGISTERS_H

#include <stdint.h>

typedef struct {
  volatile uint32_t DR;
  volatile uint32_t reserved_0;
  volatile uint32_t CR; /* 0x08 */
} CRC_TypeDef;

#define CRC_CR_RESET (1u << 0)

#endif
