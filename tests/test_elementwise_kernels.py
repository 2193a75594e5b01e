"""Kernels that join values element by element: every pair of bytes in every ratio of scales that are powers of two."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from layer_cases import hard_inputs
from test_kernels import run_on_host
from tinysplit.kernels import Kernel, render_layer
from tinysplit.layers import Activation, Add, Shape
from tinysplit.qformat import IntArray, ValueFormat
from tinysplit.quantized import LayerFormats, QuantizedLayer
from tinysplit.techniques import Technique
from tinysplit.techniques.lanes import Lanes, LaneSum

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
    return QuantizedLayer(layer, LayerFormats(inputs, y), tuple((x.low, x.high) for x in inputs))


def every_pair() -> list[IntArray]:
    """Return two inputs that have every pair of bytes at some place."""
    values = np.arange(-128, 128).astype(np.int8)
    return [x.reshape(1, *EVERY_PAIR) for x in np.meshgrid(values, values, indexing="ij")]


def assert_equals_the_reference(folder: Path, kernels: list[Kernel], inputs: list[list[IntArray]]) -> None:
    output = run_on_host(folder, dict(enumerate(kernels, 1)), inputs)
    for number, (kernel, xs) in enumerate(zip(kernels, inputs, strict=True), 1):
        expected = kernel.quantized.layer.integer_reference(kernel.quantized, *xs).tobytes()
        assert output[: len(expected)] == expected, render_layer(kernel, number)
        output = output[len(expected) :]
    assert not output


@pytest.mark.parametrize("technique", [Lanes()])
@pytest.mark.parametrize("fine_bits", range(-2, 5))
def test_every_pair_of_bytes_adds_up(technique: Technique, fine_bits: int, tmp_path: Path) -> None:
    pairs = [(fine_bits, fine_bits - coarser) for coarser in range(4)]
    layers = [
        add(EVERY_PAIR, 8, (2.0**-a, 2.0**-b), PLUS, ACTIVATIONS[turn % 3])
        for turn, (fine, coarse) in enumerate(pairs)
        for a, b in {(fine, coarse), (coarse, fine)}
    ]
    assert all(LaneSum.of(each) for each in layers)
    kernels = [Kernel(each, technique) for each in layers]
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
    kernels = [Kernel(each, Lanes()) for each in layers + others]
    assert_equals_the_reference(tmp_path, kernels, [hard_inputs(rng, kernel.quantized) for kernel in kernels])
