/* UARTs, links and pins of the board: the definitions are in the generated src/board.c. */
#ifndef BOARD_H
#define BOARD_H

#include "uart_host.h"

extern uart_host_t board_host_uart;

/* The project of a board without links has no file of theirs. */
#if __has_include("uart_link.h")
#include "uart_link.h"
#define BOARD_HAS_LINKS 1
extern uart_link_t board_link_uarts[]; /* by the link indices in network.c */
extern link_t board_links[];
extern const uint8_t board_link_count;
#else
#define BOARD_HAS_LINKS 0
#endif

/* Enables the clocks of the UARTs and configures their pins. */
void board_begin(void);

/* Selects a pin's alternate function and enables its pull-up, so that an unconnected line is idle. */
void board_begin_pin(GPIO_TypeDef *port, uint32_t number, uint32_t alternate_function);

#endif
