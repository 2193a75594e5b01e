#include "dsp_conv.h"

#include "dsp_conv_pixels.h"

enum {
  BYTES_OF_TWO = 56, /* of code, for a pair of values of two pixels */
  BYTES_OF_ONE = 36, /* the same for one pixel */
  BYTES_MORE = 8, /* for weights as bytes */
  BLOCK = 4, /* output channels */
};

DSP_CONV_ANY_PIXELS(dsp_conv_packed_any_of_one, PACKED, ONE)
DSP_CONV_ANY_PIXELS(dsp_conv_packed_any_of_two, PACKED, TWO)
DSP_CONV_ANY_PIXELS(dsp_conv_wide_any_of_one, WIDE, ONE)
DSP_CONV_ANY_PIXELS(dsp_conv_wide_any_of_two, WIDE, TWO)
DSP_CONV_ROUNDED_PIXELS(dsp_conv_packed_twice_of_one, PACKED, ONE, TWICE)
DSP_CONV_ROUNDED_PIXELS(dsp_conv_packed_twice_of_two, PACKED, TWO, TWICE)
DSP_CONV_ROUNDED_PIXELS(dsp_conv_packed_once_of_one, PACKED, ONE, ONCE)
DSP_CONV_ROUNDED_PIXELS(dsp_conv_packed_once_of_two, PACKED, TWO, ONCE)
DSP_CONV_ROUNDED_PIXELS(dsp_conv_wide_twice_of_one, WIDE, ONE, TWICE)
DSP_CONV_ROUNDED_PIXELS(dsp_conv_wide_twice_of_two, WIDE, TWO, TWICE)
DSP_CONV_ROUNDED_PIXELS(dsp_conv_wide_once_of_one, WIDE, ONE, ONCE)
DSP_CONV_ROUNDED_PIXELS(dsp_conv_wide_once_of_two, WIDE, TWO, ONCE)
DSP_CONV_ONE_PIXEL(dsp_conv_packed_one, PACKED, DSP_CONV_BODY)
DSP_CONV_ONE_PIXEL(dsp_conv_packed_one_relu, PACKED, DSP_CONV_RELU_BODY)
DSP_CONV_ONE_PIXEL(dsp_conv_packed_one_whole, PACKED, DSP_CONV_WHOLE_BODY)
DSP_CONV_ONE_PIXEL(dsp_conv_packed_one_twice, PACKED, DSP_CONV_TWICE_BODY)
DSP_CONV_ONE_PIXEL(dsp_conv_packed_one_once, PACKED, DSP_CONV_ONCE_BODY)
DSP_CONV_ONE_PIXEL(dsp_conv_bytes_one, BYTES, DSP_CONV_BYTES_BODY)
DSP_CONV_ONE_PIXEL(dsp_conv_wide_one, WIDE, DSP_CONV_BODY)
DSP_CONV_INTERLEAVED_PIXELS(dsp_conv_packed_interleaved, PACKED, DSP_CONV_BODY)
DSP_CONV_INTERLEAVED_PIXELS(dsp_conv_packed_interleaved_relu, PACKED, DSP_CONV_RELU_BODY)
DSP_CONV_INTERLEAVED_PIXELS(dsp_conv_packed_interleaved_whole, PACKED, DSP_CONV_WHOLE_BODY)
DSP_CONV_INTERLEAVED_PIXELS(dsp_conv_packed_interleaved_twice, PACKED, DSP_CONV_TWICE_BODY)
DSP_CONV_INTERLEAVED_PIXELS(dsp_conv_packed_interleaved_once, PACKED, DSP_CONV_ONCE_BODY)
DSP_CONV_INTERLEAVED_PIXELS(dsp_conv_bytes_interleaved, BYTES, DSP_CONV_BYTES_BODY)
DSP_CONV_INTERLEAVED_PIXELS(dsp_conv_wide_interleaved, WIDE, DSP_CONV_BODY)

/* A value in both halves of a word. */
static uint32_t twice(int32_t half) {
  return dsp_pair(half, half);
}

/* A value in all bytes of a word. */
static uint32_t four_times(int32_t byte) {
  return 0x01010101u * (uint8_t)byte;
}

/* Sets what the functions for `together` pixels read, with `pairs` of values under a kernel row. */
static void begin(dsp_conv_run *run, const dsp_conv *layer, int32_t together, int32_t pairs) {
  run->end = layer->weights + layer->out_channels / BLOCK * layer->block_words;
  run->y_step = layer->y_step * layer->y_bytes;
  run->y_gap = together * run->y_step - layer->out_channels / BLOCK * BLOCK * layer->y_bytes;
  run->offset = layer->offset + (layer->tail == DSP_CONV_WHOLE && layer->y_bytes == 1 ? 128 : 0);
  const int32_t are_bytes = layer->flags & (DSP_CONV_TWICE | DSP_CONV_ONCE | DSP_CONV_SINGLE);
  run->high = are_bytes                                                  ? four_times(layer->high)
              : layer->y_bytes == 1 && layer->tail == DSP_CONV_POSITIVE ? four_times(255 - layer->high)
                                                                        : twice(layer->high);
  run->tail = layer->tail;
  run->span = 4 * pairs;
  run->rows_bytes = 0;
  run->row_bytes = 2 * layer->row_length;
  run->gap_bytes = run->row_bytes - run->span;
  run->mask = ~0u << layer->pre_shift;
  run->low = are_bytes ? four_times(layer->low) : twice(layer->low);
  run->is_high = layer->flags & DSP_CONV_HIGH;
  run->flags = layer->flags;
  run->y_bytes = layer->y_bytes;
  run->pre_shift = layer->pre_shift;
  run->post_shift = layer->post_shift;
  run->pairs = pairs;
}

/* Where the unrolled loop begins, so that its last step is the last pair. */
static int32_t entry(const dsp_conv *layer, int32_t pairs, int32_t bytes) {
  const int32_t code_bytes = bytes + (layer->flags & DSP_CONV_OF_BYTES ? BYTES_MORE : 0);
  return (DSP_CONV_UNROLLED - 1 - (pairs - 1) % DSP_CONV_UNROLLED) * code_bytes + 1;
}

/* Computes the last channels, which fill no block, of `count` times `together` pixels; a buffer takes their outputs. */
static void compute_rest(const dsp_conv *layer, dsp_conv_pixels *pixels, int32_t together, int32_t count,
                         const int16_t *x, uint8_t *y, const dsp_conv_run *whole) {
  const int32_t rest_bytes = layer->out_channels % BLOCK * layer->y_bytes;
  const int32_t *const last = layer->weights + layer->out_channels / BLOCK * layer->block_words;
  dsp_conv_run run = *whole;
  y += layer->out_channels * layer->y_bytes - rest_bytes;
  run.end = last + layer->block_words;
  run.y_step = BLOCK * layer->y_bytes;
  for (; count > 0; count--) {
    uint32_t buffer[BLOCK];
    pixels(x, last, buffer, &run, 1);
    for (int32_t pixel = 0; pixel < together; pixel++) {
      for (int32_t i = 0; i < rest_bytes; i++) {
        y[i] = ((const uint8_t *)buffer)[pixel * run.y_step + i];
      }
      y += whole->y_step;
    }
    x += run.x_step / 2;
  }
}

/* Computes all channels of `count` times `together` pixels. */
DSP_INLINE void compute(const dsp_conv *layer, dsp_conv_pixels *pixels, int32_t together, int32_t count,
                        const int16_t *x, uint8_t *y, const dsp_conv_run *run) {
  if (run->end != layer->weights) {
    pixels(x, layer->weights, y, run, count);
  }
  if (layer->out_channels % BLOCK) {
    compute_rest(layer, pixels, together, count, x, y, run);
  }
}

/* Copies the values under the kernel rows of one pixel, row after row; `step` elements from a pair to the next. */
static void join_rows(const dsp_conv_run *run, const int16_t *x, int16_t *joined, int32_t step) {
  for (int32_t row = 0; row <= run->rows_bytes; row += run->row_bytes) {
    for (int32_t pair = 0; pair < run->pairs; pair++) {
      dsp_store(joined, dsp_load(x + 2 * pair));
      joined += step;
    }
    x += run->row_bytes / 2;
  }
}

void dsp_conv_layer(const dsp_conv *layer, const void *input, void *output, void *scratch) {
  const int32_t is_interleaved = layer->flags & DSP_CONV_INTERLEAVED;
  const int32_t pairs = (layer->row_elements + 1) / 2, step = is_interleaved ? 2 * pairs : layer->step;
  dsp_conv_run two, one, rows;
  begin(&two, layer, 2, pairs);
  two.span *= is_interleaved ? 2 : 1;
  two.rows_bytes = (layer->kernel_rows - 1) * two.row_bytes;
  two.x_step = 4 * step;
  two.any = layer->any_of_two;
  two.entry = entry(layer, pairs, BYTES_OF_TWO);
  begin(&one, layer, 1, pairs * layer->kernel_rows); /* its kernel rows are joined */
  one.x_step = 0;
  one.any = layer->any_of_one;
  one.entry = entry(layer, one.pairs, BYTES_OF_ONE);
  begin(&rows, layer, 2, one.pairs); /* the last pixels of two rows: joined, and interleaved */
  rows.y_step = layer->y_row * layer->y_bytes;
  rows.x_step = 0;
  rows.span *= 2;
  rows.any = layer->any_of_two;
  rows.entry = entry(layer, one.pairs, BYTES_OF_TWO);
  int16_t *const joined = scratch, *const strip = joined + (layer->rows ? 4 * one.pairs : 0);
  for (int32_t row = 0; row < layer->out_height; row++) {
    const int32_t top = row * layer->row_stride - layer->pad_top;
    uint8_t *y = (uint8_t *)output + row * layer->y_row * layer->y_bytes;
    int32_t first = -layer->pad_left;
    for (int32_t column = 0; column < layer->out_width; column += layer->strip) {
      const int32_t left = layer->out_width - column, count = left < layer->strip ? left : layer->strip;
      layer->fill_strip(layer, input, top, first, count, strip);
      first += count * layer->step;
      if (count > 1) {
        compute(layer, layer->two, 2, count / 2, strip, y, &two);
      }
      y += count * two.y_step;
      if (count % 2) {
        const int16_t *x = strip + (count - 1) * step;
        if (layer->rows && (row % 2 || row + 1 < layer->out_height)) {
          join_rows(&two, x, joined + row % 2 * 2, 4);
          if (row % 2) {
            compute(layer, layer->rows, 2, 1, joined, y - one.y_step - rows.y_step, &rows);
          }
          continue;
        }
        if (layer->kernel_rows > 1) {
          join_rows(&two, x, strip, 2);
          x = strip;
        }
        compute(layer, layer->one, 1, 1, x, y - one.y_step, &one);
      }
    }
  }
}
