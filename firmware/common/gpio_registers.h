/* Ports of pins, the same in all families, with ST's names. */
#ifndef GPIO_REGISTERS_H
#define GPIO_REGISTERS_H

#include <stdint.h>

typedef struct {
  volatile uint32_t MODER;
  volatile uint32_t OTYPER;
  volatile uint32_t OSPEEDR;
  volatile uint32_t PUPDR;
  volatile uint32_t reserved_0[2];
  volatile uint32_t BSRR; /* 0x18 */
  volatile uint32_t reserved_1;
  volatile uint32_t AFR[2]; /* 0x20 */
} GPIO_TypeDef;

#endif
