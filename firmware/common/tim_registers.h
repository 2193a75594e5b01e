/* A timer, as far as it counts, with ST's names. */
#ifndef TIM_REGISTERS_H
#define TIM_REGISTERS_H

#include <stdint.h>

typedef struct {
  volatile uint32_t CR1;
  volatile uint32_t CR2;
  volatile uint32_t SMCR;
  volatile uint32_t reserved_0[2];
  volatile uint32_t EGR; /* 0x14 */
  volatile uint32_t reserved_1[3];
  volatile uint32_t CNT; /* 0x24 */
  volatile uint32_t PSC;
  volatile uint32_t ARR;
} TIM_TypeDef;

#define TIM_CR1_CEN (1u << 0)
#define TIM_CR2_MMS_1 (2u << 4) /* only this bit: updates are the trigger output */
#define TIM_SMCR_SMS_0 (1u << 0)
#define TIM_SMCR_SMS_1 (1u << 1)
#define TIM_SMCR_SMS_2 (1u << 2)
#define TIM_EGR_UG (1u << 0)

#endif
