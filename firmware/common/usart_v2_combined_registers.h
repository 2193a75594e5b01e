/* Names of flags of the USART in ST's headers for the STM32G0 and H7: with and without a FIFO. */
#ifndef USART_V2_COMBINED_REGISTERS_H
#define USART_V2_COMBINED_REGISTERS_H

#define USART_CR1_RXNEIE_RXFNEIE (1u << 5)
#define USART_CR1_TXEIE_TXFNFIE (1u << 7)
#define USART_ISR_RXNE_RXFNE (1u << 5)
#define USART_ISR_TXE_TXFNF (1u << 7)

#endif
