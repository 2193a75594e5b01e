/* EXTI of the STM32F0, F1, F3, F4, F7 and L0, with ST's names. */
#ifndef EXTI_V1_REGISTERS_H
#define EXTI_V1_REGISTERS_H

#include <stdint.h>

typedef struct {
  volatile uint32_t IMR;
  volatile uint32_t EMR;
  volatile uint32_t RTSR;
  volatile uint32_t FTSR;
  volatile uint32_t SWIER;
  volatile uint32_t PR;
} EXTI_TypeDef;

#endif
