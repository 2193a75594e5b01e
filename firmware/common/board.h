/* What the generated src/board.c says about the board. */
#ifndef BOARD_H
#define BOARD_H

#include "link.h"
#include "uart.h"

extern uart_t board_host_uart;
extern uart_t board_link_uarts[];
extern link_t board_links[]; /* by the indices that network.c uses */
extern const uint8_t board_link_count;

/* Clocks and pins of the UARTs. */
void board_begin(void);

/* Puts a pin into an alternate function, with its pull-up on: an open line is an idle line. */
void board_begin_pin(GPIO_TypeDef *port, uint32_t number, uint32_t alternate_function);

#endif
