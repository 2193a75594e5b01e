"""A program for NUCLEO-G071RB that sends every byte back, increased by one."""

BAUD = 115108  # 16 MHz / 139
ECHO = """
#include "device.h"
void reset(void) {
  RCC->IOPENR |= 1; RCC->APBENR1 |= RCC_APBENR1_USART2EN;
  GPIOA->AFR[0] = 0x1100; GPIOA->MODER = 2u << 4 | 2u << 6;
  USART2->BRR = 139;
  USART2->CR1 = USART_CR1_TE | USART_CR1_RE | USART_CR1_UE;
  for (;;) {
    while (!(USART2->ISR & USART_ISR_RXNE_RXFNE)) {}
    USART2->TDR = USART2->RDR + 1;
  }
}
"""
