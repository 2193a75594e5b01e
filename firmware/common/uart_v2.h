/* The USART of the STM32G0, F7, L4 and H7, and their LPUARTs: flags in ISR are cleared by ICR. ST's headers use
 * combined names of flags where UARTs have a FIFO.
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
#define UART_IDLE USART_ISR_IDLE
#define UART_SENT USART_ISR_TC
/* CR1 and CR3 for a FIFO: interrupts when half of it is received, and when half of it may be filled. */
#ifdef USART_CR1_FIFOEN
#define UART_FIFO USART_CR1_FIFOEN
#define UART_FIFO_THRESHOLDS (USART_CR3_RXFTCFG_1 | USART_CR3_TXFTCFG_1)
#define UART_FIFO_RECEIVE_INTERRUPT USART_CR3_RXFTIE
#define UART_FIFO_SEND_INTERRUPT USART_CR3_TXFTIE
#else
#define UART_FIFO 0u
#define UART_FIFO_THRESHOLDS 0u
#define UART_FIFO_RECEIVE_INTERRUPT 0u
#define UART_FIFO_SEND_INTERRUPT 0u
#endif
#define UART_LINE_ERRORS (USART_ISR_ORE | USART_ISR_NE | USART_ISR_FE)

static inline uint32_t uart_status(const USART_TypeDef *registers) { return registers->ISR; }

/* Addresses of the data registers, for the DMA. */
static inline uint32_t uart_receive_address(const USART_TypeDef *registers) {
  return (uint32_t)(uintptr_t)&registers->RDR;
}

static inline uint32_t uart_send_address(const USART_TypeDef *registers) {
  return (uint32_t)(uintptr_t)&registers->TDR;
}

static inline uint8_t uart_data(const USART_TypeDef *registers) { return (uint8_t)registers->RDR; }

static inline void uart_put(USART_TypeDef *registers, uint8_t byte) { registers->TDR = byte; }

static inline void uart_clear_flags(USART_TypeDef *registers, uint32_t status) {
  registers->ICR = status & (USART_ICR_IDLECF | USART_ICR_ORECF | USART_ICR_NECF | USART_ICR_FECF);
}

#endif
