"""The functions of dsp_conv_pixels.h against their twins in C, on virtual boards: every layout, walk and clamp."""

from pathlib import Path

import pytest

from programs.checked_functions import first_failure

BOARDS = ("nucleo_l4r5zi", "nucleo_h743zi")
TIME_LIMIT_PS = 20 * 10**12
PROGRAM = """
#include <stdint.h>
#include "dsp_conv_pixels.h"

enum { ROWS = 3, ROW_LENGTH = 160, BLOCKS = 3, COUNT = 2 };
static uint32_t number; /* of a check, 1000000 when all are done */

static int16_t x[COUNT * ROWS * ROW_LENGTH + 256];
static int32_t w[BLOCKS * (12 + 4 * ROWS * 48)];
static int16_t actual[256], expected[256];

DSP_CONV_ANY_PIXELS(packed_any_one, PACKED, ONE)
DSP_CONV_ANY_PIXELS(packed_any_two, PACKED, TWO)
DSP_CONV_ANY_PIXELS(wide_any_one, WIDE, ONE)
DSP_CONV_ANY_PIXELS(wide_any_two, WIDE, TWO)
#define ROUNDED(layout, name) \
  DSP_CONV_ROUNDED_PIXELS(name##_twice_one, layout, ONE, TWICE) \
  DSP_CONV_ROUNDED_PIXELS(name##_twice_two, layout, TWO, TWICE) \
  DSP_CONV_ROUNDED_PIXELS(name##_once_one, layout, ONE, ONCE) \
  DSP_CONV_ROUNDED_PIXELS(name##_once_two, layout, TWO, ONCE)
ROUNDED(PACKED, packed)
ROUNDED(WIDE, wide)
DSP_CONV_ONE_PIXEL(packed_one, PACKED, DSP_CONV_BODY)
DSP_CONV_ONE_PIXEL(bytes_one, BYTES, DSP_CONV_BYTES_BODY)
DSP_CONV_ONE_PIXEL(wide_one, WIDE, DSP_CONV_BODY)
DSP_CONV_INTERLEAVED_PIXELS(packed_interleaved, PACKED, DSP_CONV_BODY)
DSP_CONV_INTERLEAVED_PIXELS(bytes_interleaved, BYTES, DSP_CONV_BYTES_BODY)
DSP_CONV_INTERLEAVED_PIXELS(wide_interleaved, WIDE, DSP_CONV_BODY)
DSP_CONV_ONE_PIXEL(packed_one_relu, PACKED, DSP_CONV_RELU_BODY)
DSP_CONV_ONE_PIXEL(packed_one_twice, PACKED, DSP_CONV_TWICE_BODY)
DSP_CONV_ONE_PIXEL(packed_one_once, PACKED, DSP_CONV_ONCE_BODY)
DSP_CONV_INTERLEAVED_PIXELS(packed_interleaved_relu, PACKED, DSP_CONV_RELU_BODY)
DSP_CONV_TWO_PIXELS(packed_32_relu, PACKED, DSP_CONV_RELU_BODY, 32)
DSP_CONV_ONE_PIXEL(packed_one_whole, PACKED, DSP_CONV_WHOLE_BODY)
DSP_CONV_INTERLEAVED_PIXELS(packed_interleaved_whole, PACKED, DSP_CONV_WHOLE_BODY)
DSP_CONV_TWO_PIXELS(packed_32_whole, PACKED, DSP_CONV_WHOLE_BODY, 32)
DSP_CONV_INTERLEAVED_PIXELS(packed_interleaved_twice, PACKED, DSP_CONV_TWICE_BODY)
DSP_CONV_INTERLEAVED_PIXELS(packed_interleaved_once, PACKED, DSP_CONV_ONCE_BODY)
DSP_CONV_TWO_PIXELS(packed_32_twice, PACKED, DSP_CONV_TWICE_BODY, 32)
#define DSP_CONV_PRODUCT_SHIFT "9"
DSP_CONV_ONE_PIXEL(packed_one_single, PACKED, DSP_CONV_SINGLE_BODY)
DSP_CONV_INTERLEAVED_PIXELS(packed_interleaved_single, PACKED, DSP_CONV_SINGLE_BODY)
DSP_CONV_TWO_PIXELS(packed_32_single, PACKED, DSP_CONV_SINGLE_BODY, 32)
DSP_CONV_TWO_PIXELS(packed_32, PACKED, DSP_CONV_BODY, 32)
DSP_CONV_TWO_PIXELS(bytes_32, BYTES, DSP_CONV_BYTES_BODY, 32)
DSP_CONV_TWO_PIXELS(wide_32, WIDE, DSP_CONV_BODY, 32)
#define ROW(layout) DSP_CONV_STEP(layout, 32) DSP_CONV_STEP_TO_ROW(layout, 32, 312)
#define FIRST_ROW(layout) DSP_CONV_FIRST(layout, 32) DSP_CONV_STEP_TO_ROW(layout, 32, 312)
#define ALL_STEPS(layout) FIRST_ROW(layout) ROW(layout) DSP_CONV_STEP(layout, 32) DSP_CONV_STEP(layout, 32)
#define INTERLEAVED_STEPS(layout) \
  DSP_CONV_FIRST_INTERLEAVED(layout) DSP_CONV_STEP_INTERLEAVED(layout) DSP_CONV_STEP_INTERLEAVED(layout)
DSP_CONV_INTERLEAVED_SHORT_PIXELS(packed_interleaved_3, PACKED, DSP_CONV_BODY, INTERLEAVED_STEPS(PACKED))
DSP_CONV_INTERLEAVED_SHORT_PIXELS(bytes_interleaved_3, BYTES, DSP_CONV_BYTES_BODY, INTERLEAVED_STEPS(BYTES))
DSP_CONV_INTERLEAVED_SHORT_PIXELS(wide_interleaved_3, WIDE, DSP_CONV_BODY, INTERLEAVED_STEPS(WIDE))
DSP_CONV_SHORT_PIXELS(packed_short, PACKED, DSP_CONV_BODY, 32, ALL_STEPS(PACKED))
DSP_CONV_SHORT_PIXELS(packed_short_whole, PACKED, DSP_CONV_WHOLE_BODY, 32, ALL_STEPS(PACKED))
DSP_CONV_SHORT_PIXELS(packed_narrow, PACKED, DSP_CONV_BODY, 32,
  DSP_CONV_FIRST_TO_ROW(PACKED, 32, 316) DSP_CONV_STEP_TO_ROW(PACKED, 32, 316) DSP_CONV_STEP(PACKED, 32))
DSP_CONV_SHORT_PIXELS(bytes_short, BYTES, DSP_CONV_BYTES_BODY, 32, ALL_STEPS(BYTES))
DSP_CONV_SHORT_PIXELS(wide_short, WIDE, DSP_CONV_BODY, 32, ALL_STEPS(WIDE))

enum { ONE, INTERLEAVED, LOOPED, SHORT };

/* `rounding`: a flag of requantization as in TensorFlow Lite, or 0. */
static void check(dsp_conv_pixels *function, void (*any)(void), int32_t layout, int32_t walk, int32_t pairs,
                  int32_t tail, int32_t is_high, int32_t y_bytes, int32_t rounding) {
  const int32_t rows = walk >= LOOPED ? ROWS : 1, together = walk == ONE ? 1 : 2;
  const int32_t code = (walk == ONE ? 36 : 56) + (layout == DSP_CONV_BYTES ? 8 : 0);
  const int32_t block_words = (rounding ? 12 : 8) + rows * pairs * (layout == DSP_CONV_WIDE ? 4 : 2);
  const int32_t last = DSP_CONV_UNROLLED - 1;
  dsp_conv_run run = {
    .end = w + BLOCKS * block_words, .y_step = BLOCKS * 4 * y_bytes,
    .offset = !any ? 0 : is_high || rounding ? -3 : 1000,
    .high = !any ? 0x80808080u : y_bytes == 2 ? 0x70007000u : tail == DSP_CONV_POSITIVE ? 0x21212121u : 0x00600060u,
    .tail = tail, .entry = (last - (pairs - 1) % DSP_CONV_UNROLLED) * code + 1,
    .span = (walk == INTERLEAVED ? 8 : 4) * pairs,
    .rows_bytes = 2 * (rows - 1) * ROW_LENGTH, .mask = ~63u, .row_bytes = 2 * ROW_LENGTH,
    .gap_bytes = 2 * ROW_LENGTH - 4 * pairs, .x_step = 64, .y_gap = (together - 1) * BLOCKS * 4 * y_bytes,
    .low = y_bytes == 1 ? 0xffb0ffb0u : 0x90009000u, .is_high = is_high, .y_bytes = y_bytes,
    .pre_shift = 12, .post_shift = 9, .pairs = pairs, .any = any, .flags = rounding,
  };
  if (rounding) run.low = any ? 0xb0b0b0b0u : 0x80808080u, run.high = any ? 0x60606060u : 0x7f7f7f7fu;
  if (tail == DSP_CONV_WHOLE || (y_bytes == 2 && tail == DSP_CONV_POSITIVE)) {
    run.high = y_bytes == 1 ? 0x007f007fu : 0x7fff7fffu;
    run.low = tail == DSP_CONV_POSITIVE ? 0 : y_bytes == 1 ? 0xff80ff80u : 0x80008000u;
  }
  for (uint32_t i = 0; i < sizeof x / sizeof *x; i++) x[i] = (int16_t)((int16_t)random() >> (rounding ? 12 : 0));
  const int32_t factor_shift = is_high ? (y_bytes == 1 ? 18 : 13) : 23;
  for (int32_t i = 0, place = 0; i < BLOCKS * block_words; i++, place = place + 1 < block_words ? place + 1 : 0) {
    const int32_t left = block_words - place;
    w[i] = (int32_t)random();
    if (!rounding) {
      if (left <= 4) w[i] = (int32_t)((uint32_t)w[i] >> factor_shift);
    } else if (place < 4) { /* biases, whose difference is a multiple of 256 where they share words */
      w[i] = layout == DSP_CONV_PACKED && place % 2 ? w[i - 1] + (w[i] >> 18) * 256 : w[i] >> 18;
    } else if (rounding == DSP_CONV_SINGLE && left <= 8) { /* factors, each with an offset */
      w[i] = left % 2 ? w[i] >> 12 : (int32_t)((uint32_t)w[i] >> 2);
    } else if (left <= 4) { /* shifts */
      w[i] = any && w[i] & 64 ? w[i] & 31 : 3 + (w[i] & 7); /* without `any` outputs have to fit 16 bits */
      w[i] += rounding == DSP_CONV_ONCE && w[i] == 0;
    } else if (left <= 8) { /* multipliers */
      w[i] = (w[i] | 1 << 30) & 0x7fffffff;
    }
  }
  for (uint32_t i = 0; i < 256; i++) actual[i] = expected[i] = 0;
  function(x, w, actual, &run, COUNT);
  const int32_t distance = walk == INTERLEAVED ? 4 : 32, step = walk == INTERLEAVED ? 8 : 4;
  dsp_conv_twin(x, w, expected, &run, COUNT, layout, together, distance, step);
  number++;
  for (uint32_t i = 0; i < 256; i++) {
    if (actual[i] != expected[i] && first_failure == 0) first_failure = number;
  }
}

#define CHECK_ROUNDED(weights, layout, sums, name, flag) do { \
  check(weights##_one, sums##_##name##_one, layout, ONE, pairs, DSP_CONV_ANY, 0, 1, flag); \
  check(weights##_interleaved, sums##_##name##_two, layout, INTERLEAVED, pairs, DSP_CONV_ANY, 0, 1, flag); \
  check(weights##_32, sums##_##name##_two, layout, LOOPED, pairs, DSP_CONV_ANY, 0, 1, flag); \
  check(weights##_short, sums##_##name##_two, layout, SHORT, 2, DSP_CONV_ANY, 0, 1, flag); \
} while (0)

static void check_rounded(int32_t pairs) {
  CHECK_ROUNDED(packed, DSP_CONV_PACKED, packed, twice, DSP_CONV_TWICE);
  CHECK_ROUNDED(packed, DSP_CONV_PACKED, packed, once, DSP_CONV_ONCE);
  CHECK_ROUNDED(bytes, DSP_CONV_BYTES, wide, twice, DSP_CONV_TWICE);
  CHECK_ROUNDED(bytes, DSP_CONV_BYTES, wide, once, DSP_CONV_ONCE);
  CHECK_ROUNDED(wide, DSP_CONV_WIDE, wide, twice, DSP_CONV_TWICE);
  CHECK_ROUNDED(wide, DSP_CONV_WIDE, wide, once, DSP_CONV_ONCE);
  check(packed_one_twice, 0, DSP_CONV_PACKED, ONE, pairs, DSP_CONV_ANY, 0, 1, DSP_CONV_TWICE);
  check(packed_one_once, 0, DSP_CONV_PACKED, ONE, pairs, DSP_CONV_ANY, 0, 1, DSP_CONV_ONCE);
  check(packed_interleaved_twice, 0, DSP_CONV_PACKED, INTERLEAVED, pairs, DSP_CONV_ANY, 0, 1, DSP_CONV_TWICE);
  check(packed_interleaved_once, 0, DSP_CONV_PACKED, INTERLEAVED, pairs, DSP_CONV_ANY, 0, 1, DSP_CONV_ONCE);
  check(packed_one_single, 0, DSP_CONV_PACKED, ONE, pairs, DSP_CONV_ANY, 0, 1, DSP_CONV_SINGLE);
  check(packed_interleaved_single, 0, DSP_CONV_PACKED, INTERLEAVED, pairs, DSP_CONV_ANY, 0, 1, DSP_CONV_SINGLE);
  check(packed_32_single, 0, DSP_CONV_PACKED, LOOPED, pairs, DSP_CONV_ANY, 0, 1, DSP_CONV_SINGLE);
  check(packed_32_twice, 0, DSP_CONV_PACKED, LOOPED, pairs, DSP_CONV_ANY, 0, 1, DSP_CONV_TWICE);
}

static void check_walks(int32_t pairs, int32_t tail, int32_t is_high, int32_t y_bytes) {
  if (tail == DSP_CONV_POSITIVE && y_bytes == 1) { /* a ReLU without offset and cap */
    check(packed_one_relu, 0, DSP_CONV_PACKED, ONE, pairs, tail, is_high, y_bytes, 0);
    check(packed_interleaved_relu, 0, DSP_CONV_PACKED, INTERLEAVED, pairs, tail, is_high, y_bytes, 0);
    check(packed_32_relu, 0, DSP_CONV_PACKED, LOOPED, pairs, tail, is_high, y_bytes, 0);
  }
  if (tail == DSP_CONV_WHOLE && y_bytes == 1) {
    check(packed_one_whole, packed_any_one, DSP_CONV_PACKED, ONE, pairs, tail, is_high, y_bytes, 0);
    check(packed_interleaved_whole, packed_any_two, DSP_CONV_PACKED, INTERLEAVED, pairs, tail, is_high, y_bytes, 0);
    check(packed_32_whole, packed_any_two, DSP_CONV_PACKED, LOOPED, pairs, tail, is_high, y_bytes, 0);
    check(packed_short_whole, packed_any_two, DSP_CONV_PACKED, SHORT, 2, tail, is_high, y_bytes, 0);
  } else if (tail == DSP_CONV_ANY || y_bytes == 1) {
    check(packed_one, packed_any_one, DSP_CONV_PACKED, ONE, pairs, tail, is_high, y_bytes, 0);
    check(packed_interleaved, packed_any_two, DSP_CONV_PACKED, INTERLEAVED, pairs, tail, is_high, y_bytes, 0);
    check(packed_interleaved_3, packed_any_two, DSP_CONV_PACKED, INTERLEAVED, 3, tail, is_high, y_bytes, 0);
    check(packed_32, packed_any_two, DSP_CONV_PACKED, LOOPED, pairs, tail, is_high, y_bytes, 0);
    check(packed_short, packed_any_two, DSP_CONV_PACKED, SHORT, 2, tail, is_high, y_bytes, 0);
    check(packed_narrow, packed_any_two, DSP_CONV_PACKED, SHORT, 1, tail, is_high, y_bytes, 0);
  }
  if (tail == DSP_CONV_ANY || y_bytes == 2) {
    check(wide_one, wide_any_one, DSP_CONV_WIDE, ONE, pairs, tail, is_high, y_bytes, 0);
    check(wide_interleaved, wide_any_two, DSP_CONV_WIDE, INTERLEAVED, pairs, tail, is_high, y_bytes, 0);
    check(wide_interleaved_3, wide_any_two, DSP_CONV_WIDE, INTERLEAVED, 3, tail, is_high, y_bytes, 0);
    check(wide_32, wide_any_two, DSP_CONV_WIDE, LOOPED, pairs, tail, is_high, y_bytes, 0);
    check(wide_short, wide_any_two, DSP_CONV_WIDE, SHORT, 2, tail, is_high, y_bytes, 0);
    check(bytes_one, wide_any_one, DSP_CONV_BYTES, ONE, pairs, tail, is_high, y_bytes, 0);
    check(bytes_interleaved, wide_any_two, DSP_CONV_BYTES, INTERLEAVED, pairs, tail, is_high, y_bytes, 0);
    check(bytes_interleaved_3, wide_any_two, DSP_CONV_BYTES, INTERLEAVED, 3, tail, is_high, y_bytes, 0);
    check(bytes_32, wide_any_two, DSP_CONV_BYTES, LOOPED, pairs, tail, is_high, y_bytes, 0);
    check(bytes_short, wide_any_two, DSP_CONV_BYTES, SHORT, 2, tail, is_high, y_bytes, 0);
  }
}

void reset(void) {
  static const int32_t pairs[] = {1, 3, 11, 12, 13, 24, 31, 32, 33, 41};
  first_failure = number = 0;
  state = 1;
  for (uint32_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    for (int32_t y_bytes = 1; y_bytes <= 2; y_bytes++) {
      for (int32_t is_high = 0; is_high <= 1; is_high++) check_walks(pairs[i], DSP_CONV_ANY, is_high, y_bytes);
      check_walks(pairs[i], DSP_CONV_POSITIVE, 1, y_bytes);
      check_walks(pairs[i], DSP_CONV_WHOLE, 1, y_bytes);
    }
    check_walks(pairs[i], DSP_CONV_LIMITED, 1, 2);
    check_rounded(pairs[i]);
  }
  if (first_failure == 0) first_failure = 1000000;
  for (;;) __asm__ volatile("wfi");
}
"""


@pytest.mark.parametrize("board_name", BOARDS)
def test_pixels_and_their_twins_agree(board_name: str, tmp_path: Path) -> None:
    assert first_failure(tmp_path, board_name, PROGRAM, TIME_LIMIT_PS) == 1_000_000
