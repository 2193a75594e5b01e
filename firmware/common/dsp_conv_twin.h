/* The functions of dsp_conv_pixels.h in plain C. */
#ifndef DSP_CONV_TWIN_H
#define DSP_CONV_TWIN_H

#include "dsp_conv.h"

enum { DSP_CONV_WIDE, DSP_CONV_PACKED, DSP_CONV_BYTES }; /* how weights lie: dsp_conv_pixels.h */

static inline int32_t dsp_conv_twin_limit(int32_t value, uint32_t low, uint32_t high) {
  const int32_t least = dsp_twin_half(low, 0), most = dsp_twin_half(high, 0);
  return value < least ? least : (value > most ? most : value);
}

static inline void dsp_conv_twin_output(const int32_t *sums, int32_t channel, const int32_t *factors, int32_t is_packed,
                                        void *y, const dsp_conv_run *run) {
  const int32_t is_difference = is_packed && channel % 2;
  const int32_t factor = factors[channel];
  int32_t value = sums[channel];
  if (is_difference) {
    value = (int32_t)((uint32_t)value - (uint32_t)sums[channel - 1]);
  }
  if (run->flags & DSP_CONV_SINGLE) {
    const int32_t shift = run->post_shift + (is_difference ? 8 : 0);
    const int32_t product = dsp_twin_multiply_add_high(value, factors[2 * channel], factors[2 * channel + 1]);
    ((int8_t *)y)[channel] = (int8_t)dsp_twin_saturate(product, shift, INT8_MIN, INT8_MAX);
    return;
  }
  if (run->flags & (DSP_CONV_TWICE | DSP_CONV_ONCE)) {
    const int32_t sum = is_difference ? value >> 8 : value, shift = factors[4 + channel];
    value = run->flags & DSP_CONV_TWICE ? dsp_twin_rounded_twice(sum, factor, shift, run->offset)
                                        : dsp_twin_rounded_once(sum, factor, shift, run->offset);
    ((int8_t *)y)[channel] = (int8_t)dsp_twin_saturate(value, 0, (int8_t)run->low, (int8_t)run->high);
    return;
  }
  if (run->is_high) {
    value = is_packed || run->tail == DSP_CONV_ANY ? value : (int32_t)((uint32_t)value & run->mask);
    value = dsp_twin_multiply_high(value, factor, run->offset);
  } else {
    value = (((is_difference ? value >> 8 : value) >> run->pre_shift) * factor + run->offset) >> run->post_shift;
  }
  if (is_packed && run->tail == DSP_CONV_POSITIVE) {
    const int32_t most = 255 - (int32_t)(run->high & 255);
    value = dsp_twin_saturate(value, 0, 0, most < 127 ? most : 127);
  } else if (is_packed && run->tail == DSP_CONV_WHOLE) {
    value = dsp_twin_saturate(value, 0, 0, UINT8_MAX) + INT8_MIN;
  } else {
    value = dsp_conv_twin_limit(value, run->low, run->high);
  }
  if (run->y_bytes == 1) {
    ((int8_t *)y)[channel] = (int8_t)value;
  } else {
    ((int16_t *)y)[channel] = (int16_t)value;
  }
}

/* The two weights of channel `i`, of the words of four channels. */
static inline uint32_t dsp_conv_twin_weights(const int32_t *words, int32_t i, int32_t layout) {
  const uint32_t word = (uint32_t)words[layout == DSP_CONV_WIDE ? i : i / 2];
  if (layout == DSP_CONV_BYTES && i % 2) {
    return dsp_twin_even_bytes(word >> 8 | word << 24);
  }
  return layout == DSP_CONV_WIDE || i % 2 ? word : dsp_twin_even_bytes(word);
}

/* All blocks of `pixels` pixels that are `distance` bytes apart, whose pairs are `step` bytes apart. Returns where the
 * first one's output ends.
 */
static inline uint8_t *dsp_conv_twin_blocks(const int16_t *x, const int32_t *w, uint8_t *y, const dsp_conv_run *run,
                                            int32_t layout, int32_t pixels, int32_t distance, int32_t step) {
  const int32_t is_rounded = run->flags & (DSP_CONV_TWICE | DSP_CONV_ONCE | DSP_CONV_SINGLE);
  if (run->tail == DSP_CONV_ANY && !run->any && !is_rounded) __builtin_trap(); /* the assembler calls it */
  while (w != run->end) {
    const int32_t *own = w;
    for (int32_t pixel = pixels - 1; pixel >= 0; pixel--) {
      int32_t sums[] = {w[0], w[1], w[2], w[3]};
      own = w + 4;
      for (int32_t row = 0; row <= run->rows_bytes; row += run->row_bytes) {
        for (int32_t pair = 0; pair < run->pairs; pair++) {
          const uint32_t values = dsp_load((const uint8_t *)x + row + pixel * distance + pair * step);
          for (int32_t i = 0; i < 4; i++) {
            sums[i] = dsp_twin_dual(values, dsp_conv_twin_weights(own, i, layout), sums[i]);
          }
          own += layout == DSP_CONV_WIDE ? 4 : 2;
        }
      }
      for (int32_t i = 0; i < 4; i++) {
        dsp_conv_twin_output(sums, i, own, layout == DSP_CONV_PACKED, y + pixel * run->y_step, run);
      }
    }
    w = own + (is_rounded ? 8 : 4);
    y += 4 * run->y_bytes;
  }
  return y;
}

/* The same `count` times. */
static inline void dsp_conv_twin(const int16_t *x, const int32_t *w, void *y, const dsp_conv_run *run, int32_t count,
                                 int32_t layout, int32_t together, int32_t distance, int32_t step) {
  uint8_t *output = y;
  for (; count > 0; count--) {
    output = dsp_conv_twin_blocks(x, w, output, run, layout, together, distance, step) + run->y_gap;
    x += run->x_step / 2;
  }
}

#endif
