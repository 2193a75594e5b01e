/* What depthwise convolutions share on cores with the DSP extension: rows of two planes that lie `size` values apart. */
#ifndef DSP_PLANES_H
#define DSP_PLANES_H

#include <stdint.h>

/* Sets `count` values of both planes. */
void dsp_planes_set(int16_t *plane, int32_t size, int32_t count, int32_t value);

/* Moves `count` values of both planes up from `distance` values behind. */
void dsp_planes_move_up(int16_t *plane, int32_t size, int32_t count, int32_t distance);

#endif
