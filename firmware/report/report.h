/* The pieces of code of a board report, and what they need of the board: the definitions are in the generated
 * src/report_board.c and src/report_pieces.c.
 */
#ifndef REPORT_H
#define REPORT_H

#include <stdint.h>

#include "uart.h"

/* Runs its code `loops` times. `near` is in the memory next to the core, `other` in another one if there is one. */
typedef void (*report_piece_t)(uint32_t *near, uint32_t *other, const void *flash, uint32_t loops);

extern const report_piece_t report_pieces[];
extern const uint32_t report_piece_count;

extern uint32_t report_other[]; /* at least twice the data cache of Cortex-M7 */

/* A UART that is connected to nothing, a DMA channel that sends its bytes, and an interrupt that nothing raises. */
extern uart_t report_uart;
extern const uint32_t report_baud;
extern const uint32_t report_dma_baud;
extern const dma_channel_t report_dma;
extern const uint32_t report_dma_bytes;
extern const uint32_t report_interrupt;

/* Clocks of UART and DMA, and the request of the channel. */
void report_begin_uart(void);

#endif
