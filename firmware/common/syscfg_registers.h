/* SYSCFG of the STM32F0, F3, F4, F7, G4, L0, L4, WB and WL, which connects pins to EXTI, with ST's names. */
#ifndef SYSCFG_REGISTERS_H
#define SYSCFG_REGISTERS_H

#include <stdint.h>

typedef struct {
  volatile uint32_t reserved_0[2];
  volatile uint32_t EXTICR[4]; /* 0x08 */
} SYSCFG_TypeDef;

#define SYSCFG ((SYSCFG_TypeDef *)SYSCFG_BASE)

#endif
