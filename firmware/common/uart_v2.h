/* The USART of the STM32G0, L4 and H7, and their LPUARTs: flags in ISR are cleared by ICR. ST's headers use
 * combined names of flags for UARTs with a FIFO, which the firmware does not enable.
 */
#ifndef UART_REGISTERS_H
#define UART_REGISTERS_H

#ifdef USART_ISR_RXNE_RXFNE
#define UART_RECEIVED USART_ISR_RXNE_RXFNE
#define UART_SENDABLE USART_ISR_TXE_TXFNF
#define UART_RECEIVE_INTERRUPT USART_CR1_RXNEIE_RXFNEIE
#define UART_SEND_INTERRUPT USART_CR1_TXEIE_TXFNFIE
#else
#define UART_RECEIVED USART_ISR_RXNE
#define UART_SENDABLE USART_ISR_TXE
#define UART_RECEIVE_INTERRUPT USART_CR1_RXNEIE
#define UART_SEND_INTERRUPT USART_CR1_TXEIE
#endif
#define UART_LINE_ERRORS (USART_ISR_ORE | USART_ISR_NE | USART_ISR_FE)

static inline uint32_t uart_status(const USART_TypeDef *registers) { return registers->ISR; }

static inline uint8_t uart_data(const USART_TypeDef *registers) { return (uint8_t)registers->RDR; }

static inline void uart_put(USART_TypeDef *registers, uint8_t byte) { registers->TDR = byte; }

static inline void uart_clear_line_errors(USART_TypeDef *registers) {
  registers->ICR = USART_ICR_ORECF | USART_ICR_NECF | USART_ICR_FECF;
}

#endif
