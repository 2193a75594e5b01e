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

/* Separates two channels of two neighbours: words hold two of one channel. Planes are `size` values apart. */
DSP_INLINE void dsp_planes_separate(uint32_t word, int16_t *plane, int32_t size) {
  dsp_store_even_bytes(plane, word);
  dsp_store_odd_bytes(plane + size, word);
}

/* Loads two pairs of neighbours, which are `step` bytes apart. Compilers would pull the loads apart. */
DSP_INLINE void dsp_planes_two_pairs(const int8_t *x, int32_t step, uint32_t *words) {
#if DSP_HAS_INSTRUCTIONS && !defined(DSP_DUAL_ISSUE)
  typedef uint16_t __attribute__((may_alias, aligned(1))) half;
  uint32_t first, second, third, fourth;
  __asm__(DSP_WORD_ALIGNED
          "ldrh.w %0, %4\n\tldrh.w %1, %5\n\tldrh.w %2, %6\n\tldrh.w %3, %7\n\t"
          "orr.w %0, %0, %1, lsl #16\n\torr.w %2, %2, %3, lsl #16"
          : "=&r"(first), "=&r"(second), "=&r"(third), "=&r"(fourth)
          : "m"(*(const half *)x), "m"(*(const half *)(x + step)), "m"(*(const half *)(x + 2 * step)),
            "m"(*(const half *)(x + 3 * step)));
  words[0] = first;
  words[1] = third;
#else
  words[0] = dsp_planes_neighbours(x, step);
  words[1] = dsp_planes_neighbours(x + 2 * step, step);
#endif
}

/* Separates two channels of `pairs` of neighbours: words hold two of one channel. Planes are `size` values apart.
 *
 * Four pairs are loaded before any is stored: on Cortex-M4 a load behind a store takes a cycle more, on Cortex-M7 their
 * values are joined two cycles later.
 */
DSP_INLINE void dsp_planes_gather(const int8_t *x, int32_t step, int16_t *plane, int32_t size, int32_t pairs) {
  for (; pairs >= 4; pairs -= 4) {
    uint32_t words[4];
    dsp_planes_two_pairs(x, step, words);
    dsp_planes_two_pairs(x + 4 * step, step, words + 2);
#pragma GCC unroll 4
    for (int32_t i = 0; i < 4; i++) {
      dsp_planes_separate(words[i], plane + 2 * i, size);
    }
    plane += 8;
    x += 8 * step;
  }
#pragma GCC unroll 4
  for (int32_t i = 0; i < pairs; i++) {
    dsp_planes_separate(dsp_planes_neighbours(x, step), plane, size);
    plane += 2;
    x += 2 * step;
  }
}

#endif
