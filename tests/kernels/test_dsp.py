"""The functions of dsp.h, dsp_dot.h, dsp_row.h and dsp_row_wide.h against their twins in C, both on virtual boards."""

import re
from pathlib import Path

import pytest

from programs.checked_functions import first_failure
from tinysplit.common import package_files

BOARDS = ("nucleo_l4r5zi", "nucleo_h743zi")
TIME_LIMIT_PS = 10 * 10**12
ROUNDS = 200

PROGRAM = """
#include <stdint.h>
#include "dsp_dot.h"
#include "dsp_row.h"
#include "dsp_row_wide.h"


static const uint32_t extremes[] = {
  0, 0x80808080u, 0x7f7f7f7fu, 0x80008000u, 0x7fff7fffu, 0xffffffffu, 0x80000000u, 0x7fffffffu,
};
static uint32_t any(void) { return random() %% 4 == 0 ? extremes[random() %% 8] : random(); }

static int16_t values[2][128];
static uint32_t words[256];
static int32_t actual[8], expected[8];

static void check(uint32_t number, int is_same) {
  if (!is_same && first_failure == 0) first_failure = number;
}

static void check_sums(uint32_t number) {
  for (int i = 0; i < 8; i++) check(number, actual[i] == expected[i]);
}

static void begin(void) {
  for (int i = 0; i < 8; i++) actual[i] = expected[i] = (int32_t)random();
  for (int i = 0; i < 128; i++) values[0][i] = (int16_t)any(), values[1][i] = (int16_t)any();
  for (int i = 0; i < 256; i++) words[i] = any();
}

#define CHECK_DOT(number, pairs) do { \\
  begin(); \\
  const void *end = dsp_dot_two(actual, values[0], sizeof values[0], words, pairs); \\
  check(number, end == dsp_twin_dot_two(expected, values[0], sizeof values[0], words, pairs)); \\
  check(number, (const uint8_t *)end == (const uint8_t *)words + 16 * (pairs)); \\
  check_sums(number); \\
} while (0)

#define CHECK_ROWS(number, stride, rows) do { \\
  begin(); \\
  for (int i = 0; i < 2 * (rows); i += 2) { /* the weight in the middle stands in both words */ \\
    words[i + 1] = (words[i + 1] & 0xffff0000u) | words[i] >> 16; \\
  } \\
  dsp_rows_four(actual, &sum, values[0], stride, words, rows, 20); \\
  dsp_twin_rows_four(expected, &sum, values[0], stride, words, rows, 20); \\
  check_sums(number); \\
  check(number, dsp_rows_one(&sum, values[0], words, rows, 20) == expected[0]); \\
} while (0)

#define CHECK_WIDE_ROWS(number, stride, rows, width) do { \\
  begin(); \\
  for (int i = (width) / 2; i < 100 && (width) %% 2; i += ((width) + 1) / 2) { /* the weight before the last, too */ \\
    words[i] = (words[i] & 0xffff0000u) | words[i - 1] >> 16; \\
  } \\
  dsp_wide_rows_four(actual, sum, values[0], stride, words, rows, 18, width); \\
  dsp_twin_wide_rows_four(expected, sum, values[0], stride, words, rows, 18, width); \\
  check_sums(number); \\
} while (0)

__attribute__((noinline)) static void check_wide_rows(void) {
  const int32_t sum = (int32_t)any();
  CHECK_WIDE_ROWS(130, 1, 1, 2);
  CHECK_WIDE_ROWS(131, 1, 6, 3);
  CHECK_WIDE_ROWS(132, 1, 4, 4);
  CHECK_WIDE_ROWS(133, 1, 5, 7);
  CHECK_WIDE_ROWS(134, 2, 2, 2);
  CHECK_WIDE_ROWS(135, 2, 6, 3);
  CHECK_WIDE_ROWS(136, 2, 3, 4);
  CHECK_WIDE_ROWS(137, 2, 5, 7);
}

__attribute__((noinline)) static void check_all(void) {
  const uint32_t a = any(), b = any();
  const int32_t sum = (int32_t)any();
%(checks)s
  check(109, dsp_look_up(words, a) == dsp_twin_look_up((const uint8_t *)words, a));
  CHECK_DOT(110, 3);
  CHECK_DOT(111, 11);
  CHECK_DOT(112, 16);
  CHECK_DOT(113, 27);
  CHECK_DOT(114, 48);
  CHECK_ROWS(120, 1, 1);
  CHECK_ROWS(121, 1, 3);
  CHECK_ROWS(122, 1, 5);
  CHECK_ROWS(123, 2, 1);
  CHECK_ROWS(124, 2, 3);
  CHECK_ROWS(125, 2, 5);
}

void reset(void) {
  first_failure = 0;
  for (int i = 0; i < %(rounds)d; i++) check_wide_rows(), check_all();
  for (;;) __asm__ volatile("wfi");
}
"""
CALLS = {"ONE": "a", "TWO": "a, b", "PRODUCT": "a, b, sum"}
OTHERS = (
    ("multiply_high", "(int32_t)a, (int32_t)b, 0"),
    ("multiply_high", "(int32_t)a, (int32_t)b, -17"),
    ("multiply_add_high", "(int32_t)a, (int32_t)b, sum >> 2"),
    *(("rounded_twice", f"(int32_t)a >> 1, (int32_t)(b | 1u << 30) & 0x7fffffff, {s}, -5") for s in (0, 1, 9, 31)),
    *(("rounded_once", f"(int32_t)a >> 2, (int32_t)(b | 1u << 30) & 0x7fffffff, {s}, 90") for s in (1, 2, 9, 31)),
    ("bytes", "(int32_t)a, (int32_t)b, sum, (int32_t)(a ^ b)"),
    *(
        ("saturate", f"(int32_t)a, {shift}, {low}, {high}")
        for shift in (0, 1, 9, 31)
        for low, high in ((-128, 127), (-32768, 32767), (0, 32767), (0, 127), (0, 96), (-5, 7))
    ),
)


def checks() -> list[str]:
    """Return a check of every function that dsp.h defines by an instruction, and of the others that have a twin."""
    header = (package_files.firmware() / "common" / "dsp.h").read_text()
    defined = re.findall(r"^DSP_(ONE|TWO|PRODUCT)\((\w+),", header, re.MULTILINE)
    assert len(defined) > 10
    calls = [(name, CALLS[kind]) for kind, name in defined] + list(OTHERS)
    return [
        f"  check({number}, dsp_{name}({call}) == dsp_twin_{name}({call}));"
        for number, (name, call) in enumerate(calls, 1)
    ]


@pytest.mark.parametrize("board_name", BOARDS)
def test_instructions_and_their_twins_agree(board_name: str, tmp_path: Path) -> None:
    source = PROGRAM % {"checks": "\n".join(checks()), "rounds": ROUNDS}
    assert first_failure(tmp_path, board_name, source, TIME_LIMIT_PS) == 0
