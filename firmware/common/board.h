/* Host port and pins of the board: the definitions are in the generated src/board.c. */
#ifndef BOARD_H
#define BOARD_H

#include <stdbool.h>

#include "uart_host.h"

extern uart_host_t board_host_uart;

/* Enables the clocks of the UARTs and configures their pins. */
void board_begin(void);

/* Selects a pin's alternate function and enables its pull-up, so that an unconnected line is idle. */
void board_begin_pin(GPIO_TypeDef *port, uint32_t number, uint32_t alternate_function);

/* Makes a pin a fast output with the level that the port has for it. */
void board_begin_output(GPIO_TypeDef *port, uint32_t number);

/* Lets an output in its alternate function drive its line low only, or both ways. */
void board_open_drain(GPIO_TypeDef *port, uint32_t number, bool is_open);

#endif
