/* Fills strips of dsp_conv.h: the values under the kernel rows of neighbouring pixels, widened to 16 bits. */
#include "dsp_conv.h"

static const uint8_t *element_at(const dsp_conv *layer, const void *input, int32_t element) {
  return (const uint8_t *)input + element * layer->x_bytes;
}

DSP_ALIGNED void dsp_conv_widen_bytes(const void *x, int16_t *strip, int32_t count) {
  dsp_widen(x, strip, count);
}

DSP_ALIGNED void dsp_conv_widen_grouped(const void *x, int16_t *strip, int32_t count) {
  dsp_widen_grouped(x, strip, count);
}

DSP_ALIGNED void dsp_conv_copy_halves(const void *x, int16_t *strip, int32_t count) {
  dsp_copy_halves(x, strip, count);
}

static __attribute__((noinline)) void pad(const dsp_conv *layer, int16_t *strip, int32_t count) {
  dsp_fill_halves(strip, layer->x_zero, count);
}

/* Widens `count` elements of a row of the input from `first` on; those outside the input are zero. */
DSP_INLINE void widen_row(const dsp_conv *layer, const void *input, int32_t row, int32_t first, int32_t count,
                          int16_t *strip) {
  const int32_t inside = row < 0 || row >= layer->in_height ? 0 : layer->in_row - first;
  const int32_t begin = first < 0 ? -first : 0;
  const int32_t end = count < inside ? count : inside;
  if (begin >= end) {
    pad(layer, strip, count);
    return;
  }
  if (begin > 0) {
    pad(layer, strip, begin);
  }
  layer->widen(element_at(layer, input, row * layer->in_row + first + begin), strip + begin, end - begin);
  if (end < count) {
    pad(layer, strip + end, count - end);
  }
}

/* Widens the values under the kernel rows, from element `first` of every row on. */
static void widen_rows(const dsp_conv *layer, const void *input, int32_t top, int32_t first, int32_t count,
                       int16_t *strip) {
  for (int32_t row = 0; row < layer->kernel_rows; row++) {
    widen_row(layer, input, top + row * layer->row_dilation, first, count, strip);
    strip += layer->row_length;
  }
}

DSP_ALIGNED void dsp_conv_fill_rows(const dsp_conv *layer, const void *input, int32_t top, int32_t first,
                                    int32_t count, int16_t *strip) {
  const int32_t elements = (count - 1) * layer->step + layer->row_elements;
  widen_rows(layer, input, top, first, elements, strip);
}

DSP_ALIGNED void dsp_conv_fill_rows_twice(const dsp_conv *layer, const void *input, int32_t top, int32_t first,
                                          int32_t count, int16_t *strip) {
  const int32_t step = layer->step;
  const int32_t even = (count - 1) / 2 * 2 * step + layer->row_elements;
  widen_rows(layer, input, top, first, even, strip);
  if (count > 1) {
    const int32_t odd = (count - 2) / 2 * 2 * step + layer->row_elements;
    widen_rows(layer, input, top, first + step, odd, strip + layer->distance);
  }
}

DSP_ALIGNED void dsp_conv_fill_dilated(const dsp_conv *layer, const void *input, int32_t top, int32_t first,
                                       int32_t count, int16_t *strip) {
  const int32_t elements = (count - 1) * layer->step + layer->row_elements;
  int32_t own_top = top;
  for (int32_t row = 0; row < layer->kernel_rows; row += layer->kernel_columns) {
    for (int32_t column = 0; column < layer->kernel_columns; column++) {
      widen_row(layer, input, own_top, first + column * layer->column_step, elements, strip);
      strip += layer->row_length;
    }
    own_top += layer->row_dilation;
  }
}

/* Widens some channels of `pixels` pixels of a row of the input from pixel `begin` on; those outside it are zero. */
static void widen_some_channels(const dsp_conv *layer, const void *input, int32_t row, int32_t begin, int32_t pixels,
                                int16_t *strip) {
  const int32_t inputs = layer->inputs, step = layer->pixel_elements * layer->x_bytes;
  const int32_t end = row < 0 || row >= layer->in_height ? begin : layer->in_row / layer->pixel_elements;
  const uint8_t *x = element_at(layer, input, row * layer->in_row + begin * layer->pixel_elements);
  for (int32_t pixel = begin; pixel < begin + pixels; pixel++) {
    if (pixel < 0 || pixel >= end) {
      pad(layer, strip, inputs);
    } else {
      layer->widen(x, strip, inputs);
    }
    x += step;
    strip += inputs;
  }
}

DSP_ALIGNED void dsp_conv_fill_some_channels(const dsp_conv *layer, const void *input, int32_t top, int32_t first,
                                             int32_t count, int16_t *strip) {
  const int32_t pixels = ((count - 1) * layer->step + layer->row_elements) / layer->inputs;
  for (int32_t row = 0; row < layer->kernel_rows; row++) {
    widen_some_channels(layer, input, top + row * layer->row_dilation, first / layer->inputs, pixels, strip);
    strip += layer->row_length;
  }
}

/* Stores two words of one of two interleaved pixels. */
DSP_INLINE void store_interleaved(int16_t *strip, uint32_t first, uint32_t second) {
  dsp_store(strip, first);
  dsp_store(strip + 4, second);
}

DSP_ALIGNED void dsp_conv_fill_interleaved_grouped(const dsp_conv *layer, const void *input, int32_t top, int32_t first,
                                                   int32_t count, int16_t *strip) {
  const uint8_t *x = element_at(layer, input, top * layer->in_row + first);
  const int32_t step = layer->step, elements = layer->row_elements;
  for (int32_t left = count / 2; left > 0; left--) {
    const uint8_t *const end = x + elements;
    do {
      const uint32_t a = dsp_load(x), b = dsp_load(x + step);
      dsp_store_even_bytes(strip, a);
      dsp_store_odd_bytes(strip + 4, a);
      dsp_store_even_bytes(strip + 2, b);
      dsp_store_odd_bytes(strip + 6, b);
      x += 4;
      strip += 8;
    } while (x != end);
    x += 2 * step - elements;
  }
  if (count % 2) { /* the last pixel stands alone */
    layer->widen(x, strip, layer->row_elements);
  }
}

DSP_ALIGNED void dsp_conv_fill_interleaved_halves(const dsp_conv *layer, const void *input, int32_t top, int32_t first,
                                                  int32_t count, int16_t *strip) {
  const uint8_t *x = element_at(layer, input, top * layer->in_row + first);
  const int32_t step = 2 * layer->step, bytes = 2 * layer->row_elements;
  for (int32_t left = count / 2; left > 0; left--) {
    const uint8_t *const end = x + bytes;
    do {
      const uint32_t a = dsp_load(x), b = dsp_load(x + step), c = dsp_load(x + 4), d = dsp_load(x + step + 4);
      store_interleaved(strip, a, c);
      store_interleaved(strip + 2, b, d);
      x += 8;
      strip += 8;
    } while (x != end);
    x += 2 * step - bytes;
  }
  if (count % 2) { /* the last pixel stands alone */
    layer->widen(x, strip, layer->row_elements);
  }
}

DSP_ALIGNED void dsp_conv_fill_interleaved(const dsp_conv *layer, const void *input, int32_t top, int32_t first,
                                           int32_t count, int16_t *strip) {
  const uint8_t *x = element_at(layer, input, top * layer->in_row + first);
  for (int32_t pixel = count / 2 * 2; pixel > 0; pixel--) {
    const uint8_t *own = x;
    int16_t *to = strip;
    for (int32_t left = layer->row_elements; left > 0; left -= 2) { /* the weight beside an odd one is zero */
      layer->widen(own, to, left > 1 ? 2 : 1);
      own += 2 * layer->x_bytes;
      to += 4;
    }
    x += layer->step * layer->x_bytes;
    strip = pixel % 2 ? to - 2 : strip + 2;
  }
  if (count % 2) { /* the last pixel stands alone */
    layer->widen(x, strip, layer->row_elements);
  }
}
