/* A millisecond interrupt (SysTick) for time-outs, on only while the firmware waits or something can time out: else it
 * never interrupts a layer.
 *
 * The handler, SysTick_Handler, is in main.c: it knows what there is to time out.
 */
#ifndef TICKER_H
#define TICKER_H

#include <stdbool.h>
#include <stdint.h>

/* Counted by the handler. */
extern volatile uint32_t ticker_ms;

/* Gives SysTick the lowest priority; the host's UART keeps priority 0, the highest, which it has at reset. */
void ticker_begin(void);

/* Does nothing while it is on. */
void ticker_start(void);
void ticker_stop(void);

/* Core cycles until its next interrupt, while it is on. */
uint32_t ticker_left(void);

/* Sleeps until an interrupt is pending, a millisecond at most. To be called with interrupts masked, and while it is on;
 * the cycle counter has the time asleep before any handler reads it. */
void ticker_sleep(void);

/* Microseconds for which it was on; wraps around. */
uint32_t ticker_us(void);

#endif
