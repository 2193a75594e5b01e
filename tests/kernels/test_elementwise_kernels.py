"""Kernels that take several values a word: sums of every pair of bytes in ratios that are powers of two, and pools."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernel_cases.kernels_on_board import run_on_virtual_board
from kernel_cases.kernels_on_host import all_kernels, run_on_host
from kernel_cases.layer_cases import hard_inputs, quantize_one, with_zero_points
from tinysplit.codegen.layer_source import LayerSource, render_layer
from tinysplit.kernels import Kernel
from tinysplit.kernels.armv6m.swar import Swar
from tinysplit.kernels.cores import CORTEX_M0PLUS
from tinysplit.kernels.dsp.lanes import Lanes
from tinysplit.kernels.lane_sums import LaneSum, concat_shifts
from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.formats import IntArray, ValueFormat
from tinysplit.network.fixed_point.layer_formats import LayerFormats
from tinysplit.network.layers import (
    Activation,
    Add,
    AveragePool,
    Concat,
    Layer,
    MaxPool,
    Mul,
    Pads,
    Permute,
    Shape,
    Window,
)
from tinysplit.network.quantized_graph import QuantizedLayer

EVERY_PAIR = Shape(16, 16, 256)
PLUS = (1, 1)
NONE = Activation()
ACTIVATIONS = (NONE, Activation(0.0), Activation(0.0, 1.5))


def add(
    shape: Shape, bits: int, ratios: tuple[float, float], signs: tuple[int, int], activation: Activation
) -> QuantizedLayer:
    """Return a sum whose inputs have steps of 1 / 32 times these ratios, its output of 1 / 32."""
    y = ValueFormat(bits, 1 / 32)
    common: dict[str, Any] = {"name": "case", "inputs": ("x", "v"), "output": "y", "in_shape": shape}
    layer = Add(**common, other_shapes=(shape,), signs=signs, activation=activation)
    inputs = tuple(ValueFormat(bits, ratio * y.scale) for ratio in ratios)
    return QuantizedLayer.of(layer, LayerFormats(inputs, y), tuple((x.low, x.high) for x in inputs))


def every_pair() -> list[IntArray]:
    """Return two inputs that have every pair of bytes at some place."""
    values = np.arange(-128, 128).astype(np.int8)
    return [x.reshape(1, *EVERY_PAIR) for x in np.meshgrid(values, values, indexing="ij")]


def assert_equals_the_reference(folder: Path, kernels: list[LayerSource], inputs: list[list[IntArray]]) -> None:
    output = run_on_host(folder, dict(enumerate(kernels, 1)), inputs)
    for number, (source, xs) in enumerate(zip(kernels, inputs, strict=True), 1):
        expected = source.quantized.layer.integer_reference(source.quantized, *xs).tobytes()
        assert output[: len(expected)] == expected, render_layer(source, number)
        output = output[len(expected) :]
    assert not output


@pytest.mark.parametrize("kernel", [Lanes(), Swar()])
@pytest.mark.parametrize("fine_bits", range(-2, 5))
def test_every_pair_of_bytes_adds_up(kernel: Kernel, fine_bits: int, tmp_path: Path) -> None:
    pairs = [(fine_bits, fine_bits - coarser) for coarser in range(4)]
    layers = [
        add(EVERY_PAIR, 8, (2.0**-a, 2.0**-b), PLUS, ACTIVATIONS[turn % 3])
        for turn, (fine, coarse) in enumerate(pairs)
        for a, b in {(fine, coarse), (coarse, fine)}
    ]
    assert all(LaneSum.of(each) for each in layers)
    kernels = [LayerSource(each, kernel) for each in layers]
    assert_equals_the_reference(tmp_path, kernels, [every_pair()] * len(kernels))


@pytest.mark.parametrize("bits", [8, 16])
def test_sums_of_other_formats_and_sizes(bits: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(bits)
    shapes = [Shape(*rng.integers(1, 6, 3).tolist()) for _ in range(12)]
    powers = rng.integers(-3, bits, (6, 2)).tolist()
    layers = [add(shape, bits, (2.0**-a, 2.0**-b), PLUS, NONE) for shape, (a, b) in zip(shapes, powers, strict=False)]
    layers += [add(shape, bits, (1.0, 0.5), PLUS, Activation(0.0, 2.0)) for shape in shapes[6:8]]
    others = [add(shapes[8], bits, (0.7, 0.31), PLUS, NONE), add(shapes[9], bits, (1.0, 0.5), (1, -1), NONE)]
    assert not any(map(LaneSum.of, others))
    kernels = [LayerSource(each, Lanes()) for each in layers + others]
    assert_equals_the_reference(tmp_path, kernels, [hard_inputs(rng, source.quantized) for source in kernels])


def concat(bits: int, ratios: tuple[float, ...], activation: Activation) -> QuantizedLayer:
    """Return a concatenation of inputs with steps of 1 / 32 times these ratios."""
    shapes = [Shape(3, 5, 4 * (1 + k % 3)) for k in range(len(ratios))]
    common: dict[str, Any] = {"name": "case", "inputs": tuple(f"x{k}" for k in range(len(ratios))), "output": "y"}
    layer = Concat(**common, in_shape=shapes[0], other_shapes=tuple(shapes[1:]), activation=activation)
    inputs = tuple(ValueFormat(bits, ratio / 32) for ratio in ratios)
    return QuantizedLayer.of(
        layer, LayerFormats(inputs, ValueFormat(bits, 1 / 32)), tuple((x.low, x.high) for x in inputs)
    )


@pytest.mark.parametrize(("kernel", "bits"), [(Lanes(), 8), (Lanes(), 16), (Swar(), 8)])
def test_values_side_by_side(kernel: Kernel, bits: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(bits)
    ratios = ((1.0, 0.5, 2.0), (4.0, 0.25, 1.0), (1.0, 1 / 64, 0.3), (0.125, 1.0, 1.0))
    layers = [concat(bits, each, ACTIVATIONS[turn % 3]) for turn, each in enumerate(ratios)]
    assert [concat_shifts(each) for each in layers] == [(0, 1, -1), (-2, 2, 0), (0, 6, None), (3, 0, 0)]
    kernels = [LayerSource(each, kernel) for each in layers]
    assert_equals_the_reference(tmp_path, kernels, [hard_inputs(rng, each) for each in layers])


@pytest.mark.parametrize("bits", [8, 16])
def test_outputs_of_a_network_keep_their_integers(bits: int, tmp_path: Path) -> None:
    """Whatever their formats, zero points and sizes are, in all kernels; so do copies of its inputs."""
    rng = np.random.default_rng(bits)
    formats = (ValueFormat(bits, 0.3), ValueFormat.of(bits, 1e-4, -(1 << (bits - 1))), ValueFormat.of(bits, 7.0, 5))
    bounds = tuple((x.low, x.high) for x in formats)
    layers: list[QuantizedLayer] = []
    for sizes in ((8, 12, 4), (3, 10, 1), (1, 1, 29)):
        first, *others = (Shape(1, 1, size) for size in sizes)
        names: dict[str, Any] = {"name": "case", "inputs": ("a", "b", "c"), "output": "y", "keeps_integers": True}
        joined = Concat(**names, in_shape=first, other_shapes=tuple(others))
        layers.append(QuantizedLayer.of(joined, LayerFormats(formats, formats[0]), bounds))
    for start, end in ((0, 12), (7, 24)):
        names = {"name": "case", "inputs": ("x",), "output": "y", "keeps_integers": True}
        part = np.arange(start, end)
        copy = Permute(**names, in_shape=Shape(1, 1, 24), new_shape=Shape(1, 1, part.size), order=part)
        layers.append(QuantizedLayer.of(copy, LayerFormats(formats[:1], formats[1]), bounds[:1]))
    inputs = [hard_inputs(rng, each) for each in layers]
    for layer, own in zip(layers, inputs, strict=True):
        together = np.concatenate([x.reshape(len(x), -1) for x in own], axis=1)
        order = layer.layer.order if isinstance(layer.layer, Permute) else slice(None)
        found = layer.layer.integer_reference(layer, *own)
        assert np.array_equal(found.reshape(len(found), -1), together[:, order])
    sources = list(all_kernels(layers).values())
    places = {id(layer): own for layer, own in zip(layers, inputs, strict=True)}
    assert_equals_the_reference(tmp_path, sources, [places[id(source.quantized)] for source in sources])


@pytest.mark.parametrize("bits", [8, 16])
def test_products_of_words(bits: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(bits)
    layers = []
    for turn in range(12):
        shape = Shape(3, int(rng.integers(1, 5)), int(rng.choice([4, 8, 12] if turn % 2 else [1, 3, 5])))
        other = Shape(1, 1, shape.channels) if turn % 2 else shape
        common: dict[str, Any] = {"name": "case", "inputs": ("x", "v"), "output": "y", "in_shape": shape}
        layer = Mul(**common, other_shapes=(other,), activation=ACTIVATIONS[turn % 3])
        layers.append(quantize_one(layer, (-2.0, 1.9), (-3.9, 3.9), bits))
    layers = [with_zero_points(rng, each) if turn > 7 else each for turn, each in enumerate(layers)]
    assert all(Lanes().fits(each.layer, "cortex-m4", Widths.all(bits)) for each in layers)
    kernels = [LayerSource(each, Lanes()) for each in layers]
    assert_equals_the_reference(tmp_path, kernels, [hard_inputs(rng, each) for each in layers])


def pools(rng: np.random.Generator) -> list[Layer]:
    """Return pools of both kinds over windows of several sizes, some of them beyond the map."""
    layers: list[Layer] = []
    windows = (Window((2, 2), (2, 2)), Window((3, 1), (1, 2), pads=Pads(1, 0, 0, 0)), Window((3, 3), (2, 1), (1, 2)))
    for turn, window in enumerate(windows * 2):
        shape = Shape(int(rng.integers(5, 9)), int(rng.integers(5, 9)), int(rng.choice([4, 8, 12])))
        common: dict[str, Any] = {"name": "case", "inputs": ("x",), "output": "y", "in_shape": shape}
        activation = ACTIVATIONS[turn % 3]
        layers.append(MaxPool(**common, window=window, activation=activation))
        layers.append(AveragePool(**common, window=window, activation=activation, count_include_pad=bool(turn % 2)))
    return layers


@pytest.mark.parametrize("is_positive", [False, True])
def test_pools_of_words_on_cortex_m0plus(is_positive: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    bounds = ((0, 127),) if is_positive else ()
    layers = [replace(quantize_one(layer, (-4.0, 3.9), (-1.9, 3.9), 8), bounds=bounds) for layer in pools(rng)]
    kernels = [LayerSource(each, Swar()) for each in layers]
    assert all(Swar().fits(each.layer, CORTEX_M0PLUS, Widths.all(8)) for each in layers)
    inputs = [[x.clip(*each.x_bounds) for x in hard_inputs(rng, each)] for each in layers]
    assert_equals_the_reference(tmp_path, kernels, inputs)
    for number, (source, [x]) in enumerate(zip(kernels[:4], inputs[:4], strict=True)):
        output = run_on_virtual_board(tmp_path / str(number), source, x)
        assert output == source.quantized.layer.integer_reference(source.quantized, x).tobytes()
