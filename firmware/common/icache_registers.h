/* The ICACHE of the STM32H5, L5 and U5 (icache.h), with ST's names. */
#ifndef ICACHE_REGISTERS_H
#define ICACHE_REGISTERS_H

#include <stdint.h>

typedef struct {
  volatile uint32_t CR;
  volatile uint32_t SR;
} ICACHE_TypeDef;

#define ICACHE_CR_EN (1u << 0)
#define ICACHE_CR_CACHEINV (1u << 1)
#define ICACHE_SR_BUSYF (1u << 0)

#endif
