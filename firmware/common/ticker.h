/* A millisecond interrupt (SysTick) for time-outs, on only while the firmware waits: it never interrupts a layer.
 *
 * The handler, SysTick_Handler, is in main.c: it knows what there is to time out.
 */
#ifndef TICKER_H
#define TICKER_H

/* Gives SysTick the lowest priority; the UARTs keep priority 0, the highest, which they have at reset. */
void ticker_begin(void);
void ticker_start(void);
void ticker_stop(void);

#endif
