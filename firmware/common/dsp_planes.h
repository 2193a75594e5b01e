/* Rows of two channel planes, `size` values apart, for depthwise convolutions on cores with the DSP extension. */
#ifndef DSP_PLANES_H
#define DSP_PLANES_H

#include <stdint.h>

/* Sets `count` values of both planes. */
void dsp_planes_set(int16_t *plane, int32_t size, int32_t count, int32_t value);

/* Moves `count` values of both planes `distance` values towards the beginning. */
void dsp_planes_move_up(int16_t *plane, int32_t size, int32_t count, int32_t distance);

#endif
