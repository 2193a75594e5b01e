/* Stands in for a family's device.h where firmware is compiled for the host: types without registers, no interrupts. */
#ifndef DEVICE_H
#define DEVICE_H

#include <stdint.h>

typedef struct {
  uint32_t unused;
} USART_TypeDef;

typedef USART_TypeDef GPIO_TypeDef;

static const struct {
  uint32_t CNT;
} *const TIM2 = 0;

static inline uint32_t __get_PRIMASK(void) { return 0; }
static inline void __set_PRIMASK(uint32_t mask) { (void)mask; }
static inline void __disable_irq(void) {}

#endif
