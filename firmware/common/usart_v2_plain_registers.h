/* Bits of USARTs as ST names them where none of a family has a FIFO, or as on the STM32L4. */
#ifndef USART_V2_PLAIN_REGISTERS_H
#define USART_V2_PLAIN_REGISTERS_H

#define USART_CR1_RXNEIE (1u << 5)
#define USART_CR1_TXEIE (1u << 7)
#define USART_ISR_RXNE (1u << 5)
#define USART_ISR_TXE (1u << 7)

#endif
