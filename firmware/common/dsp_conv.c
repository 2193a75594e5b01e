#include "dsp_conv.h"

#include "dsp_conv_pixels.h"

enum {
  UNROLLED = 16, /* pairs of values in the inner loop */
  BYTES_OF_TWO = 56, /* of code, for a pair of values of two pixels */
  BYTES_OF_ONE = 36,
  BLOCK = 4, /* output channels */
};

DSP_CONV_ANY_PIXELS(dsp_conv_packed_any_of_one, PACKED, ONE)
DSP_CONV_ANY_PIXELS(dsp_conv_packed_any_of_two, PACKED, TWO)
DSP_CONV_ANY_PIXELS(dsp_conv_wide_any_of_one, WIDE, ONE)
DSP_CONV_ANY_PIXELS(dsp_conv_wide_any_of_two, WIDE, TWO)
DSP_CONV_ONE_PIXEL(dsp_conv_packed_one, PACKED)
DSP_CONV_ONE_PIXEL(dsp_conv_wide_one, WIDE)
DSP_CONV_APART_PIXELS(dsp_conv_packed_apart, PACKED)
DSP_CONV_APART_PIXELS(dsp_conv_wide_apart, WIDE)

static const uint8_t *at(const dsp_conv *layer, const void *input, int32_t element) {
  return (const uint8_t *)input + element * layer->x_bytes;
}

static __attribute__((noinline)) void fill(const dsp_conv *layer, int16_t *strip, int32_t count) {
  dsp_fill_halves(strip, layer->x_zero, count);
}

/* Widens `count` elements, in the order of the layer. */
static __attribute__((noinline)) void widen(const dsp_conv *layer, const uint8_t *from, int32_t count, int16_t *strip) {
  if (layer->x_bytes > 1) {
    dsp_copy_halves((const int16_t *)(const void *)from, strip, count);
  } else if (layer->flags & DSP_CONV_GROUPED) {
    dsp_widen_grouped((const int8_t *)from, strip, count);
  } else {
    dsp_widen((const int8_t *)from, strip, count);
  }
}

/* Widens `count` elements of a row of the map from `first` on; those beside the map are zero. */
static void widen_row(const dsp_conv *layer, const void *input, int32_t row, int32_t first, int32_t count,
                      int16_t *strip) {
  const int32_t behind = row < 0 || row >= layer->in_height ? 0 : layer->in_row - first;
  const int32_t begin = first < 0 ? -first : 0;
  const int32_t end = count < behind ? count : behind;
  if (begin >= end) {
    fill(layer, strip, count);
    return;
  }
  if (begin > 0) {
    fill(layer, strip, begin);
  }
  widen(layer, at(layer, input, row * layer->in_row + first + begin), end - begin, strip + begin);
  if (end < count) {
    fill(layer, strip + end, count - end);
  }
}

/* Widens what lies under the kernel rows, beginning with element `first` of every row. */
static void fill_rows(const dsp_conv *layer, const void *input, int32_t top, int32_t first, int32_t count, int16_t *strip) {
  for (int32_t row = 0; row < layer->kernel_rows; row++) {
    widen_row(layer, input, top + row * layer->row_dilation, first, count, strip);
    strip += layer->row_length;
  }
}

/* Two words of one pixel, the second of them 8 bytes behind the first. */
DSP_INLINE void store_apart(int16_t *strip, uint32_t first, uint32_t second) {
  dsp_store(strip, first);
  dsp_store(strip + 4, second);
}

/* Widens twice `count` pixels of bytes in groups, of which two have their words beside each other. */
static void widen_groups_apart(const uint8_t *x, int32_t step, int32_t elements, int32_t count, int16_t *strip) {
  for (; count > 0; count--) {
    const uint8_t *const end = x + elements;
    do {
      const uint32_t a = dsp_load(x), b = dsp_load(x + step);
      store_apart(strip, dsp_even_bytes(a), dsp_odd_bytes(a));
      store_apart(strip + 2, dsp_even_bytes(b), dsp_odd_bytes(b));
      x += 4;
      strip += 8;
    } while (x != end);
    x += 2 * step - elements;
  }
}

/* The same of halves. */
static void copy_apart(const uint8_t *x, int32_t step, int32_t elements, int32_t count, int16_t *strip) {
  for (; count > 0; count--) {
    const uint8_t *const end = x + 2 * elements;
    do {
      const uint32_t a = dsp_load(x), b = dsp_load(x + step), c = dsp_load(x + 4), d = dsp_load(x + step + 4);
      store_apart(strip, a, c);
      store_apart(strip + 2, b, d);
      x += 8;
      strip += 8;
    } while (x != end);
    x += 2 * step - 2 * elements;
  }
}

/* The same of any number of values. */
static void widen_apart(const dsp_conv *layer, const uint8_t *x, int32_t step, int32_t elements, int32_t count,
                        int16_t *strip) {
  for (count *= 2; count > 0; count--) {
    const uint8_t *own = x;
    int16_t *to = strip;
    for (int32_t left = elements; left > 0; left -= 2) { /* beside an odd one a weight is zero */
      widen(layer, own, left > 1 ? 2 : 1, to);
      own += 2 * layer->x_bytes;
      to += 4;
    }
    x += step;
    strip = count % 2 ? to - 2 : strip + 2;
  }
}

static uint32_t twice(int32_t half) {
  return dsp_pair(half, half);
}

static void begin(dsp_conv_run *run, const dsp_conv *layer, int32_t together, int32_t pairs) {
  run->end = layer->weights + layer->out_channels / BLOCK * layer->block_words;
  run->y_step = layer->out_channels * layer->y_bytes;
  run->y_gap = (together - 1) * run->y_step + layer->out_channels % BLOCK * layer->y_bytes;
  run->offset = layer->offset;
  run->high = layer->y_bytes == 1 && layer->tail == DSP_CONV_POSITIVE ? 0x01010101u * (uint32_t)(255 - layer->high)
                                                                      : twice(layer->high);
  run->tail = layer->tail;
  run->span = 4 * pairs;
  run->rows_bytes = 0;
  run->row_bytes = 2 * layer->row_length;
  run->gap_bytes = run->row_bytes - run->span;
  run->mask = ~0u << layer->pre_shift;
  run->low = twice(layer->low);
  run->is_high = layer->flags & DSP_CONV_HIGH;
  run->y_bytes = layer->y_bytes;
  run->pre_shift = layer->pre_shift;
  run->post_shift = layer->post_shift;
  run->pairs = pairs;
}

static int32_t entry(int32_t pairs, int32_t code_bytes) {
  return (UNROLLED - 1 - (pairs - 1) % UNROLLED) * code_bytes + 1;
}

/* Computes the channels of `count` times `together` pixels that fill no block, by way of a buffer. */
static void compute_rest(const dsp_conv *layer, dsp_conv_pixels *pixels, int32_t together, int32_t count,
                         const int16_t *x, uint8_t *y, const dsp_conv_run *whole) {
  const int32_t y_step = whole->y_step, rest_bytes = layer->out_channels % BLOCK * layer->y_bytes;
  const int32_t *const last = layer->weights + layer->out_channels / BLOCK * layer->block_words;
  dsp_conv_run run = *whole;
  run.end = last + layer->block_words;
  run.y_step = BLOCK * layer->y_bytes;
  for (; count > 0; count--) {
    uint32_t buffer[BLOCK];
    pixels(x, last, buffer, &run, 1);
    for (int32_t pixel = 0; pixel < together; pixel++) {
      y += y_step;
      for (int32_t i = 0; i < rest_bytes; i++) {
        y[i - rest_bytes] = ((const uint8_t *)buffer)[pixel * run.y_step + i];
      }
    }
    x += run.x_step / 2;
  }
}

/* All channels of `count` times `together` pixels. */
DSP_INLINE void compute(const dsp_conv *layer, dsp_conv_pixels *pixels, int32_t together, int32_t count,
                        const int16_t *x, uint8_t *y, const dsp_conv_run *run) {
  if (run->end != layer->weights) {
    pixels(x, layer->weights, y, run, count);
  }
  if (layer->out_channels % BLOCK) {
    compute_rest(layer, pixels, together, count, x, y, run);
  }
}

/* Puts what lies under the kernel rows of a pixel together, at the beginning of the strip. */
static void put_together(const dsp_conv_run *run, const int16_t *x, int16_t *strip) {
  for (int32_t row = 0; row <= run->rows_bytes; row += run->row_bytes) {
    for (int32_t pair = 0; pair < run->pairs; pair++) {
      dsp_store(strip, dsp_load(x + 2 * pair));
      strip += 2;
    }
    x += run->row_bytes / 2;
  }
}

/* Widens a strip of `count` pixels. */
static void fill_strip(const dsp_conv *layer, const void *input, int32_t out_row, int32_t column, int32_t count,
                       int16_t *strip) {
  const int32_t top = out_row * layer->row_stride - layer->pad_top, step = layer->step;
  const int32_t first = column * step - layer->pad_left;
  const int32_t whole = (count - 1) / 2 * 2 * step + layer->row_elements; /* under every other pixel */
  if (layer->flags & DSP_CONV_APART) {
    const uint8_t *x = at(layer, input, top * layer->in_row + first);
    const int32_t elements = layer->row_elements, step_bytes = step * layer->x_bytes;
    if (layer->flags & DSP_CONV_GROUPED) {
      widen_groups_apart(x, step_bytes, elements, count / 2, strip);
    } else if (layer->x_bytes > 1 && elements % 4 == 0) {
      copy_apart(x, step_bytes, elements, count / 2, strip);
    } else {
      widen_apart(layer, x, step_bytes, elements, count / 2, strip);
    }
    if (count % 2) {
      widen(layer, x + (count - 1) * step_bytes, elements, strip + (count - 1) * ((elements + 1) / 2 * 2));
    }
  } else if (layer->distance == step) {
    fill_rows(layer, input, top, first, (count - 1) * step + layer->row_elements, strip);
  } else {
    fill_rows(layer, input, top, first, whole, strip);
    if (count > 1) {
      fill_rows(layer, input, top, first + step, (count - 2) / 2 * 2 * step + layer->row_elements, strip + layer->distance);
    }
  }
}

void dsp_conv_layer(const dsp_conv *layer, const void *input, void *output, void *scratch) {
  const int32_t y_bytes = layer->out_channels * layer->y_bytes, is_apart = layer->flags & DSP_CONV_APART;
  const int32_t pairs = (layer->row_elements + 1) / 2, step = is_apart ? 2 * pairs : layer->step;
  uint8_t *y = output;
  dsp_conv_run two, one;
  begin(&two, layer, 2, pairs);
  two.span *= is_apart ? 2 : 1;
  two.rows_bytes = (layer->kernel_rows - 1) * two.row_bytes;
  two.x_step = 4 * step;
  two.any = layer->any_of_two;
  two.entry = entry(pairs, BYTES_OF_TWO);
  begin(&one, layer, 1, pairs * layer->kernel_rows); /* whose kernel rows are put together */
  one.x_step = 0;
  one.any = layer->any_of_one;
  one.entry = entry(one.pairs, BYTES_OF_ONE);
  for (int32_t row = 0; row < layer->out_height; row++) {
    for (int32_t column = 0; column < layer->out_width; column += layer->strip) {
      const int32_t left = layer->out_width - column, count = left < layer->strip ? left : layer->strip;
      fill_strip(layer, input, row, column, count, scratch);
      if (count > 1) {
        compute(layer, layer->two, 2, count / 2, scratch, y, &two);
      }
      y += count * y_bytes;
      if (count % 2) {
        const int16_t *x = (const int16_t *)scratch + (count - 1) * step;
        if (layer->kernel_rows > 1) {
          put_together(&two, x, scratch);
          x = scratch;
        }
        compute(layer, layer->one, 1, 1, x, y - y_bytes, &one);
      }
    }
  }
}
