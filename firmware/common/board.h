/* Host port and pins of the board: the definitions are in the generated src/board.c. */
#ifndef BOARD_H
#define BOARD_H

#include "uart_host.h"

extern uart_host_t board_host_uart;

/* Enables the clocks of the UARTs and configures their pins. */
void board_begin(void);

/* Selects a pin's alternate function and enables its pull-up, so that an unconnected line is idle. */
void board_begin_pin(GPIO_TypeDef *port, uint32_t number, uint32_t alternate_function);

#endif
