"""Six products in two 64-bit multiplications equal the reference, also where fields come to their ends."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from kernel_cases.dsp_layers import floats, quantized, random_window
from kernel_cases.kernels_on_host import assert_c_equals_the_reference, compile_all, write_layers
from kernel_cases.layer_cases import as_tflite, hard_inputs, quantize_one, with_zero_points
from programs.checked_functions import first_failure
from session.profiles import cases
from tinysplit.codegen.layer_source import LayerSource
from tinysplit.kernels import candidates
from tinysplit.kernels.dsp.long_mac import FIELD_LIMIT, LongMac, Packing, fields_fit
from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.layers import Activation, Conv, Shape, Window
from tinysplit.network.quantized_graph import QuantizedLayer

CORTEX_M4 = "cortex-m4"
CASES = cases(quick=4, full=8, nightly=64)
COMPILER = "arm-none-eabi-gcc"
TIME_LIMIT_PS = 10**12
LARGEST = 127


def conv(rng: np.random.Generator) -> Conv:
    """Return a layer that the kernel takes; some have fewer than four pixels in the last four."""
    shape = Shape(int(rng.integers(2, 8)), int(rng.integers(2, 8)), int(rng.choice([4, 8, 20])))
    window = random_window(rng, shape, (int(rng.integers(1, 4)), int(rng.integers(1, 4))))
    outputs = int(rng.integers(3, 12))
    height, width = window.out_shape(shape, outputs)[:2]
    if height * width < 4:
        return conv(rng)
    return layer(shape, floats(rng, outputs, *window.kernel, shape.channels), window, is_relu=bool(rng.integers(2)))


def layer(shape: Shape, weights: NDArray[np.float32], window: Window, *, is_relu: bool) -> Conv:
    bias = np.linspace(-1, 1, len(weights), dtype=np.float32)
    activation = Activation(0.0) if is_relu else Activation()
    return Conv(
        name="case",
        inputs=("x",),
        output="y",
        in_shape=shape,
        weights=weights,
        bias=bias,
        window=window,
        activation=activation,
    )


def deep(rng: np.random.Generator, inputs: int) -> QuantizedLayer:
    """Return a pointwise layer of large weights, for so many inputs that one group does not hold them."""
    weights = rng.choice([-1.0, 1.0], (4, 1, 1, inputs)).astype(np.float32)
    pointwise = layer(Shape(2, 3, inputs), weights, Window((1, 1)), is_relu=False)
    return quantize_one(pointwise, (-1.0, 1.0), (-float(inputs), float(inputs)), 8)


def groups(each: QuantizedLayer) -> int:
    return LongMac().context(each).groups


def assert_kernel_equals_the_reference(tmp_path: Path, rng: np.random.Generator, layers: list[QuantizedLayer]) -> None:
    for each in layers:
        assert "long_mac" in {kernel.name for kernel in candidates(each.layer, CORTEX_M4, Widths.all(8))}
        constants = LongMac().constants(each)["weights"]
        assert constants.nbytes <= LongMac().weights_bytes(each.layer, Widths.all(8))
    assert_c_equals_the_reference(tmp_path, rng, layers, given=[worst_inputs(rng, each) for each in layers])


def worst_inputs(rng: np.random.Generator, each: QuantizedLayer) -> list[IntArray]:
    """Return the hardest inputs, and for a pointwise layer those that take the fields in the middle to their ends."""
    (inputs,) = hard_inputs(rng, each)
    if each.layer.out_shape.size // each.layer.out_shape.channels != inputs[0].size // inputs.shape[-1]:
        return [inputs]
    weights = each.constants["weights"].reshape(each.layer.out_shape.channels, -1).astype(np.int64)
    if weights.shape[1] != inputs.shape[-1]:
        return [inputs]
    x, block = each.formats.x, Packing.of(each).channels[-1]
    flat = inputs.reshape(len(inputs), -1, inputs.shape[-1])
    for pixel in range(flat.shape[1]):  # p meets the second channel, q the first, with equal signs
        channel = block[(1, 0)[pixel % 2] if pixel % 4 < 2 else (0, 2)[pixel % 2]]
        flat[0, pixel] = np.where(weights[channel] > 0, x.high, x.low)
        flat[1, pixel] = np.where(weights[channel] > 0, x.low, x.high)
    return [inputs]


def test_c_equals_the_integer_reference(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    layers = [quantized(rng, conv(rng), 8) for _ in range(CASES)]
    assert {each.layer.out_shape.size // each.layer.out_shape.channels % 4 > 0 for each in layers} == {False, True}
    assert_kernel_equals_the_reference(tmp_path, rng, layers)


def test_c_equals_the_integer_reference_with_zero_points_and_rounding_of_tflite(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    layers = [quantized(rng, conv(rng), 8) for _ in range(CASES)]
    shifted = [with_zero_points(rng, each) for each in layers[::2]]
    assert_kernel_equals_the_reference(tmp_path, rng, [*shifted, *(as_tflite(rng, each) for each in layers[1::2])])


def test_c_equals_the_integer_reference_with_as_many_inputs_as_fields_hold(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    layers = [deep(rng, inputs) for inputs in (32, 64, 96, 160)]
    assert [groups(each) for each in layers] == [1, 2, 3, 5]
    assert_kernel_equals_the_reference(tmp_path, rng, layers)


def test_outputs_are_as_far_apart_as_stores_reach(tmp_path: Path) -> None:
    """The last pixel's outputs are three times the channels behind those of the first."""
    weights = floats(np.random.default_rng(7), 1500, 1, 1, 4)
    few, most, many = (layer(Shape(2, 2, 4), weights[:n], Window((1, 1)), is_relu=False) for n in (1364, 1365, 1500))
    assert [LongMac().fits(each, CORTEX_M4, Widths.all(8)) for each in (few, most, many)] == [True, True, False]
    largest = [quantize_one(each, (-1.0, 1.0), (-8.0, 8.0), 8) for each in (few, most)]
    assert all(LongMac().context(each).stores_bytes for each in largest)
    sources = write_layers(tmp_path, dict(enumerate((LayerSource(each, LongMac()) for each in largest), 1)))
    compile_all((COMPILER, f"-mcpu={CORTEX_M4}", "-mthumb", "-O2"), tmp_path, sources)


def test_large_channels_meet_small_ones() -> None:
    rng = np.random.default_rng(6)
    weights = rng.integers(-LARGEST, LARGEST + 1, (8, 96)) // np.array([1, 1, 1, 8, 8, 8, 8, 9])[:, None]
    packing = Packing.search(weights, -128, LARGEST)
    assert set(packing.channels.reshape(-1).tolist()) == set(range(8))
    assert packing.groups == 1
    in_order = np.array([[0, 1, 2], [3, 4, 5], [5, 6, 7]])
    assert not fields_fit(weights[in_order], -128, LARGEST)


def test_known_bounds_of_inputs_make_fewer_groups() -> None:
    each = deep(np.random.default_rng(4), 64)
    assert groups(each) == 2
    assert groups(replace(each, bounds=((0, 100),))) == 1
    assert groups(replace(each, bounds=((-64, 63),))) == 1


@pytest.mark.parametrize(("x_low", "x_high"), [(-128, 127), (0, 127), (-128, -3), (-128, 0)])
def test_the_proof_is_what_the_worst_inputs_give(x_low: int, x_high: int) -> None:
    """Every input at either end, for weights whose sums are scaled to lie around the limit."""
    rng = np.random.default_rng(5)
    ends = np.array(np.meshgrid(*[[x_low, x_high, 0]] * 3)).reshape(3, -1).T  # of p; q is free of it
    verdicts = set()
    for _ in range(200):
        weights = rng.integers(-LARGEST, LARGEST + 1, (3, 3))
        scale = int(rng.integers(8, 64))
        m, n, r = weights * scale
        sums = [[ends @ channel for channel in pair] for pair in ((n, m), (r, m))]
        fits = all(
            p.max() + q.max() < FIELD_LIMIT
            and p.min() + q.min() >= -FIELD_LIMIT
            and p.max() < FIELD_LIMIT
            and p.min() >= -FIELD_LIMIT
            for p, q in sums
        )
        assert fields_fit(weights * scale, x_low, x_high) == fits
        verdicts.add(fits)
    assert verdicts == {False, True}


PROGRAM = """
#include <stdint.h>
#include "dsp_long.h"

enum { COUNT = 96, CHANNELS = 7 };
static uint32_t x[2 * COUNT + 4];
static int32_t w[2 * COUNT + 12];
static int8_t outputs[2][4 * CHANNELS];

DSP_LONG_DOT(dot_2, 2, 1, 1)
DSP_LONG_DOT(dot_12, 12, 6, 6)
DSP_LONG_DOT(dot_20, 20, 5, 10)
DSP_LONG_DOT(dot_32, 32, 8, 16)
DSP_LONG_DOT(dot_96, 96, 8, 16)

#define CHECK_STORE(zero_point, low) do { \\
  int8_t *y = outputs[0], *expected_y = outputs[1]; \\
  is_same &= dsp_long_store(actual, w, &y, CHANNELS, zero_point, low) == w + 9 && y == outputs[0] + 1; \\
  dsp_twin_long_store(expected, w, &expected_y, CHANNELS, zero_point, low); \\
  for (int i = 0; i < 4 * CHANNELS; i++) is_same &= outputs[0][i] == outputs[1][i]; \\
} while (0)

#define CHECK(number, count) do { \\
  for (uint32_t i = 0; i < sizeof x / sizeof *x; i++) x[i] = random(), w[i] = (int32_t)random(); \
  dsp_long_sums actual[2], expected[2]; \\
  const int32_t *end = dsp_twin_long_dot(expected, x, w, count); \\
  int is_same = dot_##count(actual, x, w) == end && end == w + 2 * count; \\
  for (int i = 0; i < 4; i++) { \\
    is_same &= actual[i / 2].low[i % 2] == expected[i / 2].low[i % 2]; \\
    is_same &= actual[i / 2].high[i % 2] == expected[i / 2].high[i % 2]; \\
    const uint32_t low = actual[i / 2].low[i % 2]; \\
    const int32_t high = actual[i / 2].high[i % 2]; \\
    is_same &= dsp_long_middle(low, high) == (int32_t)((low >> 21 | (uint32_t)high << 11) & 0x1fffff); \\
  } \\
  if (!is_same && first_failure == 0) first_failure = number; \\
} while (0)

void reset(void) {
  first_failure = 0;
  for (int i = 0; i < 20; i++) {
    CHECK(1, 2);
    CHECK(2, 12);
    CHECK(3, 20);
    CHECK(4, 32);
    CHECK(5, 96);
  }
  if (first_failure == 0) first_failure = 1000000;
  for (;;) __asm__ volatile("wfi");
}
"""


@pytest.mark.parametrize("board_name", ["nucleo_l4r5zi", "nucleo_h743zi"])
def test_sums_and_their_twins_agree(board_name: str, tmp_path: Path) -> None:
    assert first_failure(tmp_path, board_name, PROGRAM, TIME_LIMIT_PS) == 1_000_000
