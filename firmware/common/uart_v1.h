/* The USART of the STM32F4: one status and one data register. */
#ifndef UART_REGISTERS_H
#define UART_REGISTERS_H

#define UART_RECEIVED USART_SR_RXNE
#define UART_LINE_ERRORS (USART_SR_ORE | USART_SR_NE | USART_SR_FE)
#define UART_SENDABLE USART_SR_TXE
#define UART_RECEIVE_INTERRUPT USART_CR1_RXNEIE
#define UART_SEND_INTERRUPT USART_CR1_TXEIE

static inline uint32_t uart_status(const USART_TypeDef *registers) { return registers->SR; }

static inline uint8_t uart_data(const USART_TypeDef *registers) { return (uint8_t)registers->DR; }

static inline void uart_put(USART_TypeDef *registers, uint8_t byte) { registers->DR = byte; }

/* Reading the status register, then the data register, has cleared them. */
static inline void uart_clear_line_errors(USART_TypeDef *registers) { (void)registers; }

#endif
