/* UARTs, links and pins of the board: the definitions are in the generated src/board.c. */
#ifndef BOARD_H
#define BOARD_H

#include "link.h"
#include "uart.h"

extern uart_t board_host_uart;
extern uart_t board_link_uarts[];
extern link_t board_links[]; /* by the link indices in network.c */
extern const uint8_t board_link_count;

/* Enables the clocks of the UARTs and configures their pins. */
void board_begin(void);

/* Selects a pin's alternate function and enables its pull-up, so that an unconnected line is idle. */
void board_begin_pin(GPIO_TypeDef *port, uint32_t number, uint32_t alternate_function);

#endif
