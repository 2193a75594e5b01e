/* A millisecond tick for time-outs, on only while the firmware waits: layers compute undisturbed. */
#ifndef TICKER_H
#define TICKER_H

void ticker_begin(void);
void ticker_start(void);
void ticker_stop(void);

#endif
