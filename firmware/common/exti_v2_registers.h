/* EXTI of the STM32G0, C0, H5, L5 and U5 (exti_v2.h), with ST's names. */
#ifndef EXTI_V2_REGISTERS_H
#define EXTI_V2_REGISTERS_H

#include <stdint.h>

typedef struct {
  volatile uint32_t RTSR1;
  volatile uint32_t FTSR1;
  volatile uint32_t SWIER1;
  volatile uint32_t RPR1;
  volatile uint32_t FPR1;
  volatile uint32_t reserved_0[19];
  volatile uint32_t EXTICR[4]; /* 0x60 */
  volatile uint32_t reserved_1[4];
  volatile uint32_t IMR1; /* 0x80 */
} EXTI_TypeDef;

#endif
