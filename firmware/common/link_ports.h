/* The links of the board and their UARTs, by the link indices in network.c: the definitions are in the generated
 * src/board.c.
 */
#ifndef LINK_PORTS_H
#define LINK_PORTS_H

#include "uart_link.h"

extern uart_link_t board_link_uarts[];
extern link_t board_links[];
extern const uint8_t board_link_count;

#endif
