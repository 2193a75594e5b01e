/* The USART of the STM32F1 and F4: one status and one data register. */
#ifndef UART_REGISTERS_H
#define UART_REGISTERS_H

#define UART_RECEIVED USART_SR_RXNE
/* CR1 and CR3 for a FIFO, which these UARTs lack. */
#define UART_FIFO 0u
#define UART_FIFO_THRESHOLDS 0u
#define UART_FIFO_RECEIVE_INTERRUPT 0u
#define UART_FIFO_SEND_INTERRUPT 0u
#define UART_LINE_ERRORS (USART_SR_ORE | USART_SR_NE | USART_SR_FE)
#define UART_SENDABLE USART_SR_TXE
#define UART_IDLE USART_SR_IDLE
#define UART_SENT USART_SR_TC
#define UART_RECEIVE_INTERRUPT USART_CR1_RXNEIE
#define UART_SEND_INTERRUPT USART_CR1_TXEIE

static inline uint32_t uart_status(const USART_TypeDef *registers) { return registers->SR; }

/* Addresses of the data registers, for the DMA. */
static inline uint32_t uart_receive_address(const USART_TypeDef *registers) {
  return (uint32_t)(uintptr_t)&registers->DR;
}

static inline uint32_t uart_send_address(const USART_TypeDef *registers) {
  return (uint32_t)(uintptr_t)&registers->DR;
}

static inline uint8_t uart_data(const USART_TypeDef *registers) { return (uint8_t)registers->DR; }

static inline void uart_put(USART_TypeDef *registers, uint8_t byte) { registers->DR = byte; }

/* Reading the status register, then the data register, clears all flags of the receiver. With RXNE set, a byte waits in
 * the data register: who takes it, the firmware or the DMA, clears them.
 */
static inline void uart_clear_flags(USART_TypeDef *registers, uint32_t status) {
  if (!(status & USART_SR_RXNE)) (void)registers->DR;
}

#endif
