/* Stands in for a family's device.h where firmware is compiled for the host: types without registers, no interrupts. */
#ifndef DEVICE_H
#define DEVICE_H

#include <stdint.h>

typedef struct {
  uint32_t unused;
} USART_TypeDef;

typedef USART_TypeDef GPIO_TypeDef;
typedef USART_TypeDef dma_channel_t;

typedef struct {
  uint32_t CNT;  /* of a timer */
  uint32_t KR;   /* of the watchdog */
  uint32_t ICSR; /* of the core */
} stub_registers_t;

static __attribute__((unused)) stub_registers_t stub_registers;

#define CYCLE_TIMER (&stub_registers)
#define WATCHDOG (&stub_registers)
#define SCB (&stub_registers)
#define SCB_ICSR_PENDSVSET_Msk 1u

static inline uint32_t __get_PRIMASK(void) { return 0; }
static inline void __set_PRIMASK(uint32_t mask) { (void)mask; }
static inline void __disable_irq(void) {}
static inline void __DSB(void) {}
static inline void __ISB(void) {}
static inline void __WFI(void) {}

#define UART_LINE_ERRORS 1u
#define UART_IDLE 2u
static inline void uart_clear_flags(USART_TypeDef *registers, uint32_t flags) {
  (void)registers;
  (void)flags;
}

#endif
