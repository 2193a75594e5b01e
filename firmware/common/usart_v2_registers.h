/* The USART of the STM32G0, F7, L4 and H7, and their LPUARTs (uart_v2.h), with ST's names. */
#ifndef USART_V2_REGISTERS_H
#define USART_V2_REGISTERS_H

#include <stdint.h>

typedef struct {
  volatile uint32_t CR1;
  volatile uint32_t CR2;
  volatile uint32_t CR3;
  volatile uint32_t BRR;
  volatile uint32_t reserved_0[3];
  volatile uint32_t ISR; /* 0x1C */
  volatile uint32_t ICR;
  volatile uint32_t RDR; /* 16 bits wide in ST's headers, like TDR; accesses of up to a word are allowed */
  volatile uint32_t TDR;
} USART_TypeDef;

#define USART_CR1_UE (1u << 0)
#define USART_CR1_RE (1u << 2)
#define USART_CR1_TE (1u << 3)
#define USART_CR1_IDLEIE (1u << 4)
#define USART_CR1_OVER8 (1u << 15)
#define USART_CR3_EIE (1u << 0)
#define USART_CR3_HDSEL (1u << 3)
#define USART_CR3_DMAR (1u << 6)
#define USART_CR3_DMAT (1u << 7)
#define USART_ISR_FE (1u << 1)
#define USART_ISR_NE (1u << 2)
#define USART_ISR_ORE (1u << 3)
#define USART_ISR_IDLE (1u << 4)
#define USART_ISR_TC (1u << 6)
#define USART_ICR_FECF (1u << 1)
#define USART_ICR_ORECF (1u << 3)
#define USART_ICR_IDLECF (1u << 4)
#ifndef USART_ICR_NCF /* its name on the F7 */
#define USART_ICR_NECF (1u << 2)
#endif

#ifndef USART_WITHOUT_FIFO
#define USART_CR1_FIFOEN (1u << 29)
#define USART_CR3_TXFTIE (1u << 23)
#define USART_CR3_RXFTCFG_1 (2u << 25)
#define USART_CR3_RXFTIE (1u << 28)
#define USART_CR3_TXFTCFG_1 (2u << 29)
#endif

#endif
