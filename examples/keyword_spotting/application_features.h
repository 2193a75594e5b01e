/* The features of the network from 16 kHz samples: MFCC in integers. mfcc.py says what they are, and is their
 * reference, bit by bit.
 */
#ifndef APPLICATION_FEATURES_H
#define APPLICATION_FEATURES_H

#include <stdint.h>

#define FEATURES_HOP 320 /* samples, 20 ms */
#define FEATURES_COEFFICIENTS 10
#define FEATURES_SCALE (1.0f / 256.0f) /* the value of an integer 1 */

/* Forgets all samples. */
void features_begin(void);

/* Takes the next HOP samples, and writes the COEFFICIENTS features of the window that ends with them. The first hop
 * completes no window: its features are to be ignored. */
void features_next(const int16_t *samples, int16_t *features);

#endif
