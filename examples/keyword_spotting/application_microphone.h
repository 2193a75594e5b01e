/* An analog microphone at PA0 (A0 of a NUCLEO-L452RE): 16 kHz, by TIM6, ADC1 and channel 1 of DMA1. */
#ifndef APPLICATION_MICROPHONE_H
#define APPLICATION_MICROPHONE_H

#include <stdint.h>

/* Begins to sample. */
void microphone_begin(void);

/* Of the application: takes the next FEATURES_HOP samples, in the interrupt of the DMA. Links interrupt it. */
void microphone_heard(const int16_t *samples);

#endif
