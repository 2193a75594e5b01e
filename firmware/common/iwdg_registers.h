/* The independent watchdog, the same in all families, with ST's names. */
#ifndef IWDG_REGISTERS_H
#define IWDG_REGISTERS_H

#include <stdint.h>

typedef struct {
  volatile uint32_t KR;
  volatile uint32_t PR;
  volatile uint32_t RLR;
} IWDG_TypeDef;

#endif
