/* The USART of the STM32F1 and F4 (uart_v1.h), with ST's names. */
#ifndef USART_V1_REGISTERS_H
#define USART_V1_REGISTERS_H

#include <stdint.h>

typedef struct {
  volatile uint32_t SR;
  volatile uint32_t DR;
  volatile uint32_t BRR;
  volatile uint32_t CR1;
  volatile uint32_t CR2;
  volatile uint32_t CR3;
} USART_TypeDef;

#define USART_SR_FE (1u << 1)
#define USART_SR_NE (1u << 2)
#define USART_SR_ORE (1u << 3)
#define USART_SR_IDLE (1u << 4)
#define USART_SR_TC (1u << 6)
#define USART_SR_RXNE (1u << 5)
#define USART_SR_TXE (1u << 7)
#define USART_CR1_RE (1u << 2)
#define USART_CR1_TE (1u << 3)
#define USART_CR1_IDLEIE (1u << 4)
#define USART_CR1_RXNEIE (1u << 5)
#define USART_CR1_TXEIE (1u << 7)
#define USART_CR1_UE (1u << 13)
#define USART_CR3_EIE (1u << 0)
#define USART_CR3_HDSEL (1u << 3)
#define USART_CR3_DMAR (1u << 6)
#define USART_CR3_DMAT (1u << 7)

#endif
