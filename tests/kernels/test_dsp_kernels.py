"""The kernels of cores with DSP instructions on shapes that suit them; the host runs the instructions' twins in C."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from test_kernels import all_kernels, assert_c_equals_the_reference, compile_all, write_layers

from layer_cases import quantize_one, with_zero_points
from tinysplit.kernels import candidates, choose
from tinysplit.network.bit_widths import Widths
from tinysplit.network.layers import (
    Activation,
    AveragePool,
    Conv,
    Dense,
    DepthwiseConv,
    Layer,
    MaxPool,
    Pads,
    Shape,
    Window,
)
from tinysplit.network.quantized_graph import QuantizedLayer

CORTEX_M0PLUS = "cortex-m4"
CASES = 12
RELU = Activation(0.0)
Maker = Callable[[np.random.Generator], Layer]


def random_window(rng: np.random.Generator, shape: Shape, kernel: tuple[int, int]) -> Window:
    while True:
        stride = tuple(rng.integers(1, 3, 2).tolist())
        pads = Pads(*rng.integers(0, 3, 4).tolist()) if rng.integers(3) else Pads()
        window = Window(kernel, (stride[0], stride[1]), pads=pads)
        if min(window.out_shape(shape, 1)) > 0:
            return window


def common(rng: np.random.Generator, channels: int) -> dict[str, Any]:
    height, width = rng.integers(1, 13, 2).tolist()
    activation = RELU if rng.integers(2) else Activation()
    return {
        "name": "case",
        "inputs": ("x",),
        "output": "y",
        "in_shape": Shape(height, width, channels),
        "activation": activation,
    }


def floats(rng: np.random.Generator, *shape: int) -> NDArray[np.float32]:
    return rng.uniform(-1, 1, shape).astype(np.float32)


def conv(rng: np.random.Generator) -> Layer:
    fields = common(rng, int(rng.choice([1, 2, 3, 4, 5, 8, 16, 20])))
    kernel = (1, 1) if rng.integers(3) == 0 else tuple(rng.integers(1, 6, 2).tolist())
    window = random_window(rng, fields["in_shape"], (kernel[0], kernel[1]))
    outputs = int(rng.integers(1, 11))
    weights = floats(rng, outputs, *window.kernel, fields["in_shape"].channels)
    return Conv(**fields, weights=weights, bias=floats(rng, outputs), window=window)


def depthwise_conv(rng: np.random.Generator) -> Layer:
    fields = common(rng, int(rng.choice([2, 4, 6])))
    fields["in_shape"] = fields["in_shape"]._replace(height=int(rng.choice([3, 7, 60])))
    kernel_height = int(rng.choice([2, 3, 4]))
    window = random_window(rng, fields["in_shape"]._replace(width=9), (kernel_height, 3))
    fields["in_shape"] = fields["in_shape"]._replace(width=int(rng.integers(5, 12)))
    channels = fields["in_shape"].channels
    weights = floats(rng, *window.kernel, channels)
    return DepthwiseConv(**fields, weights=weights, bias=floats(rng, channels), window=window)


def dense(rng: np.random.Generator) -> Layer:
    fields = common(rng, int(rng.integers(1, 9)))
    outputs = int(rng.integers(1, 20))
    return Dense(**fields, weights=floats(rng, outputs, fields["in_shape"].size), bias=floats(rng, outputs))


def max_pool(rng: np.random.Generator) -> Layer:
    fields = common(rng, int(rng.choice([4, 8, 20])))
    height, width = rng.integers(1, 4, 2).tolist()
    return MaxPool(**fields, window=random_window(rng, fields["in_shape"], (height, width)))


def average_pool(rng: np.random.Generator) -> Layer:
    fields = common(rng, int(rng.choice([4, 8, 20])))
    height, width, _ = fields["in_shape"]
    window = Window((height, width)) if rng.integers(2) else Window((1, min(width, 3)), (1, 2))
    return AveragePool(**fields, window=window)


def quantized(rng: np.random.Generator, layer: Layer, bits: int) -> QuantizedLayer:
    return quantize_one(layer, (-1.0, 1.0), (-4.0, float(rng.uniform(1, 4))), bits)


@pytest.mark.parametrize(
    ("maker", "kernel", "bits"),
    [
        (conv, "dual_mac", 8),
        (conv, "dual_mac", 16),
        (dense, "dual_mac", 8),
        (dense, "dual_mac", 16),
        (max_pool, "byte_lanes", 8),
        (average_pool, "byte_lanes", 8),
        (max_pool, "lanes", 16),
        (average_pool, "lanes", 16),
        (depthwise_conv, "planes", 8),
        (depthwise_conv, "planes", 16),
    ],
)
def test_c_equals_the_integer_reference(maker: Maker, kernel: str, bits: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(bits)
    layers = [quantized(rng, maker(rng), bits) for _ in range(CASES)]
    assert {candidates(each.layer, CORTEX_M0PLUS, Widths.all(bits))[0].name for each in layers} == {kernel}
    assert_c_equals_the_reference(tmp_path, rng, layers)


@pytest.mark.parametrize("maker", [conv, dense, depthwise_conv])
def test_c_equals_the_integer_reference_with_zero_points(maker: Maker, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    layers = [with_zero_points(rng, quantized(rng, maker(rng), 8)) for _ in range(CASES)]
    assert any(each.formats.x.zero_point for each in layers)
    assert_c_equals_the_reference(tmp_path, rng, layers)


def test_what_instructions_do_not_reach_is_left_to_the_plain_loops() -> None:
    wide = Shape(8, 700, 2)
    depthwise = DepthwiseConv(
        name="case",
        inputs=("x",),
        output="y",
        in_shape=wide,
        weights=np.ones((5, 3, 2), np.float32),
        bias=np.zeros(2, np.float32),
        window=Window((5, 3)),
    )
    deep = Shape(1, 4, 3000)
    pointwise = Conv(
        name="case",
        inputs=("x",),
        output="y",
        in_shape=deep,
        weights=np.ones((4, 1, 1, 3000), np.float32),
        bias=np.zeros(4, np.float32),
        window=Window((1, 1)),
    )
    assert {candidates(layer, CORTEX_M0PLUS, Widths.all(8))[0].name for layer in (depthwise, pointwise)} == {"direct"}


def tiled_conv(rng: np.random.Generator) -> Layer:
    fields = common(rng, int(rng.choice([4, 8, 20])))
    height, width = (2 * rng.integers(1, 6, 2)).tolist()
    pads = Pads(*rng.integers(0, 3, 4).tolist())
    in_shape = Shape(
        height + 2 - pads.top - pads.bottom, width + 2 - pads.left - pads.right, fields["in_shape"].channels
    )
    if min(in_shape) < 1:
        return tiled_conv(rng)
    outputs = int(rng.choice([4, 8, 12]))
    weights = floats(rng, outputs, 3, 3, in_shape.channels)
    fields["in_shape"] = in_shape
    return Conv(**fields, weights=weights, bias=floats(rng, outputs), window=Window((3, 3), pads=pads))


@pytest.mark.parametrize("has_zero_points", [False, True])
def test_winograd_equals_the_integer_reference(has_zero_points: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    layers = [quantized(rng, tiled_conv(rng), 8) for _ in range(CASES)]
    if has_zero_points:
        layers = [with_zero_points(rng, each) for each in layers]
    assert all(choose(each.layer, CORTEX_M0PLUS, Widths.all(8), name="winograd").name == "winograd" for each in layers)
    assert "winograd" not in {choose(each.layer, CORTEX_M0PLUS, Widths.all(8)).name for each in layers}
    assert_c_equals_the_reference(tmp_path, rng, layers)


@pytest.mark.parametrize("level", ["-O0", "-Og", "-O1", "-Os", "-O3"])
def test_c_compiles_at_every_optimisation_level(level: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    makers = (conv, dense, depthwise_conv, max_pool, average_pool)
    kernels = all_kernels([quantized(rng, maker(rng), bits) for maker in makers for bits in (8, 16)], (CORTEX_M0PLUS,))
    compile_all(
        ("arm-none-eabi-gcc", f"-mcpu={CORTEX_M0PLUS}", "-mthumb", level), tmp_path, write_layers(tmp_path, kernels)
    )
