/* Rows of two channel planes, `size` values apart, for depthwise convolutions on cores with the DSP extension. */
#ifndef DSP_PLANES_H
#define DSP_PLANES_H

#include "dsp.h"

/* Sets `count` values of both planes. */
void dsp_planes_set(int16_t *plane, int32_t size, int32_t count, int32_t value);

/* Moves `count` values of both planes `distance` values towards the beginning. */
void dsp_planes_move_up(int16_t *plane, int32_t size, int32_t count, int32_t distance);

/* Two bytes of two neighbours, which are `step` bytes apart. */
DSP_INLINE uint32_t dsp_planes_neighbours(const int8_t *x, int32_t step) {
  return dsp_load_half(x) | dsp_load_half(x + step) << 16;
}

/* Separates two channels of `pairs` of neighbours: words hold two of one channel. Planes are `size` values apart. */
DSP_INLINE void dsp_planes_gather(const int8_t *x, int32_t step, int16_t *plane, int32_t size, int32_t pairs) {
#ifdef DSP_DUAL_ISSUE /* loads of four pairs, two cycles before their values are joined */
  for (; pairs >= 4; pairs -= 4) {
    uint32_t words[4];
#pragma GCC unroll 4
    for (int32_t i = 0; i < 4; i++) {
      words[i] = dsp_planes_neighbours(x + 2 * i * step, step);
    }
#pragma GCC unroll 4
    for (int32_t i = 0; i < 4; i++) {
      dsp_store_even_bytes(plane + 2 * i, words[i]);
      dsp_store_odd_bytes(plane + size + 2 * i, words[i]);
    }
    plane += 8;
    x += 8 * step;
  }
#endif
#pragma GCC unroll 4
  for (int32_t i = 0; i < pairs; i++) {
    const uint32_t word = dsp_planes_neighbours(x, step);
    dsp_store_even_bytes(plane, word);
    dsp_store_odd_bytes(plane + size, word);
    plane += 2;
    x += 2 * step;
  }
}

#endif
