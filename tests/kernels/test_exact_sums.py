"""Kernels whose outputs are the sums themselves (no shift, no factor), so that a sum that is off by one shows."""

from pathlib import Path

import numpy as np
import pytest

from kernel_cases.kernels_on_board import run_on_virtual_board
from kernel_cases.kernels_on_host import all_kernels, run_on_host
from tinysplit.codegen.layer_source import LayerSource
from tinysplit.kernels.armv6m.packed import Packed, Packing
from tinysplit.kernels.armv6m.runs import RunsOfChannels
from tinysplit.kernels.armv6m.unpacked import Unpacked
from tinysplit.network.fixed_point.arithmetic import Requantization
from tinysplit.network.fixed_point.formats import IntArray, ValueFormat
from tinysplit.network.fixed_point.layer_formats import LayerFormats
from tinysplit.network.layers import Conv, Dense, DepthwiseConv, Layer, Pads, Shape, Window
from tinysplit.network.quantized_graph import QuantizedLayer

BYTES, WORDS = ValueFormat(8, 1.0), ValueFormat(16, 1.0)  # integers stand for themselves
AS_IT_IS = LayerFormats((BYTES,), WORDS, 8, Requantization((1,), 0))
# The largest products of either sign, side by side, and small ones; two pairs of output channels.
WEIGHTS = np.array([[127, 127], [-127, -127], [127, -127], [1, -2]])
BIAS = np.array([0, 1, -1, 2])
INPUTS = np.array([[-128, -128], [127, 127], [-128, 127], [127, -128], [0, 0], [1, 0], [0, -1], [3, 5]])


def dense() -> QuantizedLayer:
    layer = Dense(
        name="fc",
        inputs=("x",),
        output="y",
        in_shape=Shape(1, 1, 2),
        weights=WEIGHTS.astype(np.float32),
        bias=BIAS.astype(np.float32),
    )
    return QuantizedLayer.of(layer, AS_IT_IS, ((-128, 127),))


def pointwise() -> QuantizedLayer:
    layer = Conv(
        name="conv",
        inputs=("x",),
        output="y",
        in_shape=Shape(2, 4, 2),
        weights=WEIGHTS.reshape(4, 1, 1, 2).astype(np.float32),
        bias=BIAS.astype(np.float32),
        window=Window((1, 1)),
    )
    return QuantizedLayer.of(layer, AS_IT_IS, ((-128, 127),))


def assert_sums(folder: Path, quantized: QuantizedLayer, x: IntArray, expected: IntArray) -> None:
    kernels = all_kernels([quantized])
    output = run_on_host(folder, kernels, [[x]] * len(kernels))
    for source, sums in zip(kernels.values(), np.frombuffer(output, "<i2").reshape(len(kernels), -1), strict=True):
        assert sums.tolist() == expected.ravel().tolist(), source.kernel.name


def test_sums_of_largest_products_are_exact_on_the_host(tmp_path: Path) -> None:
    expected = INPUTS @ WEIGHTS.T + BIAS
    assert expected[0].tolist() == [-32512, 32513, -1, 130]  # by hand: 256 * -127 and 1 more; 0 - 1; -128 + 256 + 2
    assert_sums(tmp_path, dense(), INPUTS.reshape(8, 1, 1, 2).astype(np.int8), expected)
    assert_sums(tmp_path, pointwise(), INPUTS.reshape(1, 2, 4, 2).astype(np.int8), expected)


@pytest.mark.parametrize("kernel", [Packed(), Unpacked()], ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("low", [-128, 0])
def test_sums_of_largest_products_are_exact_in_assembler(kernel: Packed | Unpacked, low: int, tmp_path: Path) -> None:
    quantized = QuantizedLayer.of(pointwise().layer, AS_IT_IS, ((low, 127),))
    x = INPUTS.clip(low, 127)
    output = run_on_virtual_board(tmp_path, LayerSource(quantized, kernel), x.reshape(1, 2, 4, 2).astype(np.int8))
    assert np.frombuffer(output, "<i2").reshape(8, 4).tolist() == (x @ WEIGHTS.T + BIAS).tolist()


def grouped(groups: int, outputs: int, window: Window) -> Layer:
    """Return a convolution of 6 channels whose weights are 1, 2, 3, ..."""
    shape = (outputs, *window.kernel, 6 // groups)
    return Conv(
        name="conv",
        inputs=("x",),
        output="y",
        in_shape=Shape(3, 4, 6),
        weights=(np.arange(np.prod(shape)).reshape(shape) % 11 - 4).astype(np.float32),
        bias=np.arange(outputs, dtype=np.float32),
        window=window,
        groups=groups,
    )


def sums_by_loops(layer: Layer, x: IntArray) -> IntArray:
    """Return the sums of a grouped convolution over one sample (H x W x C), as its definition says."""
    assert isinstance(layer, Conv)
    window, (height, width, channels) = layer.window, layer.out_shape
    pads, per_group, inputs = window.pads, channels // layer.groups, 6 // layer.groups
    padded = np.pad(x.astype(int), ((pads.top, pads.bottom), (pads.left, pads.right), (0, 0)))
    sums = np.zeros((height, width, channels), int)
    for row, column, channel in np.ndindex(height, width, channels):
        first = channel // per_group * inputs
        part = padded[row : row + window.kernel[0], column : column + window.kernel[1], first : first + inputs]
        sums[row, column, channel] = (part * layer.weights[channel].astype(int)).sum() + int(layer.bias[channel])
    return sums


@pytest.mark.parametrize(("groups", "outputs"), [(3, 3), (2, 2), (2, 4), (3, 9)])
@pytest.mark.parametrize("window", [Window((1, 1)), Window((2, 3), pads=Pads(1, 1, 0, 1))])
def test_groups_of_several_inputs_with_one_output_or_more(
    groups: int, outputs: int, window: Window, tmp_path: Path
) -> None:
    layer = grouped(groups, outputs, window)
    x = np.random.default_rng(0).integers(-128, 128, (3, 4, 6)).astype(np.int8)
    expected = sums_by_loops(layer, x)
    quantized = QuantizedLayer.of(layer, AS_IT_IS, ((-128, 127),))
    assert layer.integer_reference(quantized, x[np.newaxis]).tolist() == [expected.tolist()]
    assert_sums(tmp_path, quantized, x[np.newaxis], expected)


def test_groups_of_packed_products_fit_16_bits() -> None:
    def groups_of(weights: list[int], high: int) -> int:
        layer = Conv(
            name="conv",
            inputs=("x",),
            output="y",
            in_shape=Shape(1, 1, len(weights)),
            weights=np.array([weights] * 4, np.float32).reshape(4, 1, 1, -1),
            bias=np.zeros(4, np.float32),
            window=Window((1, 1)),
        )
        return len(Packing.of(QuantizedLayer.of(layer, AS_IT_IS, ((-128, high),))).groups)

    # Values up to 255: 255 * 257 = 65535 is the largest 16-bit sum.
    assert groups_of([127, 127, 2, 1], 127) == 1
    assert groups_of([127, 127, 2, 2], 127) == 2
    # Values up to 128: 128 * 511 = 65408, and 128 * 512 = 65536 is one too many.
    assert groups_of([127, 127, 127, 127, 2, 1], 0) == 1
    assert groups_of([127, 127, 127, 127, 2, 2], 0) == 2


def depthwise(weights: list[list[int]], bounds: tuple[int, int]) -> QuantizedLayer:
    """Return a layer of windows of one row over 16 columns, with the `weights` of each channel."""
    layer = DepthwiseConv(
        name="conv",
        inputs=("x",),
        output="y",
        in_shape=Shape(1, 16, len(weights)),
        weights=np.array(weights, np.float32).T[np.newaxis],
        bias=np.array([-1, -20000, 0, 2][: len(weights)], np.float32),
        window=Window((1, len(weights[0]))),
    )
    return QuantizedLayer.of(layer, AS_IT_IS, (bounds,))


def runs_of_largest_products(taps: int) -> tuple[QuantizedLayer, IntArray, IntArray]:
    """Return a layer, its input with all neighbouring extremes, and the outputs as the definition says."""
    weights = [[-127] * taps, [127] * taps, [-127, 127, -127][:taps], [1, -2, 3][:taps]]
    quantized = depthwise(weights, (-128, 127))
    line = np.array([-128] * 4 + [127] * 4 + [-128, 127] * 3 + [0, 1])
    x = np.repeat(line[:, np.newaxis], 4, axis=1)
    bias = quantized.constants["bias"].astype(int)
    sums = sum(x[tap : tap + 17 - taps] * np.array(weights)[:, tap] for tap in range(taps)) + bias
    return quantized, x[np.newaxis].astype(np.int8), sums.clip(-(1 << 15), (1 << 15) - 1)


@pytest.mark.parametrize("taps", [2, 3])
def test_sums_of_largest_products_of_runs_are_exact_on_the_host(taps: int, tmp_path: Path) -> None:
    quantized, x, expected = runs_of_largest_products(taps)
    assert expected[0, 0] == (32511 if taps == 2 else 32767)  # by hand: 2 * 127 * 128 - 1; more than 16 bits hold
    assert_sums(tmp_path, quantized, x[np.newaxis], expected)


@pytest.mark.parametrize("taps", [2, 3])
def test_sums_of_largest_products_of_runs_are_exact_in_assembler(taps: int, tmp_path: Path) -> None:
    quantized, x, expected = runs_of_largest_products(taps)
    output = run_on_virtual_board(tmp_path, LayerSource(quantized, RunsOfChannels()), x[np.newaxis])
    assert np.frombuffer(output, "<i2").reshape(expected.shape).tolist() == expected.tolist()


def test_groups_of_runs_fit_16_bits() -> None:
    def have_short_groups(weights: list[int], bounds: tuple[int, int]) -> bool:
        quantized = depthwise([weights], bounds)
        (words,) = RunsOfChannels().constants(quantized)["weights"].reshape(1, -1)
        return bool(words[2])

    # -128 * 256 = -32768 is the lowest sum of 16 bits, 128 * 256 is one too many.
    assert not have_short_groups([127, 127, 2], (-128, 127))
    assert have_short_groups([127, 127, 3], (-128, 127))
    assert have_short_groups([-127, -127, -2], (-128, 127))
    # Values from 0 are centered.
    assert not have_short_groups([127, 127, 127], (0, 127))
