"""Random layers of shapes that suit the kernels of Cortex-M0+, quantized in many ways."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_cases.layer_cases import ACTIVATIONS, as_tflite, hard_inputs, quantize_one, random_pads, with_zero_points
from session.profiles import cases
from tinysplit.codegen.layer_source import LayerSource
from tinysplit.kernels import Kernel
from tinysplit.kernels.armv6m.packed import Packed
from tinysplit.kernels.armv6m.runs import RunsOfChannels
from tinysplit.kernels.armv6m.sliding import Sliding
from tinysplit.kernels.armv6m.streamed import Streamed
from tinysplit.kernels.armv6m.two_windows import TwoWindows
from tinysplit.kernels.armv6m.unpacked import Unpacked
from tinysplit.kernels.armv6m.wide import Wide
from tinysplit.kernels.cores import CORTEX_M0PLUS
from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.arithmetic import ACCUMULATOR_MAX
from tinysplit.network.fixed_point.formats import IntArray, ValueFormat
from tinysplit.network.fixed_point.layer_formats import LayerFormats
from tinysplit.network.layers import Conv, Dense, DepthwiseConv, Layer, Pads, Shape, Window
from tinysplit.network.quantized_graph import QuantizedLayer

CASES = range(cases(quick=2, full=5, nightly=64))


def floats(rng: np.random.Generator, *shape: int) -> NDArray[np.float32]:
    """Return floats around zero; sometimes all as large as each other, so that groups become as short as can be."""
    values = rng.choice([-1.0, 1.0], shape) if rng.integers(3) == 0 else rng.normal(0, 0.3, shape)
    return np.asarray(values, np.float32)


def quantized(rng: np.random.Generator, layer: Layer, bits: int) -> QuantizedLayer:
    """Return the layer in random formats, some with zero points, some with an input that is never negative."""
    x_largest, y_largest = 2.0 ** rng.uniform(-3, 3, 2)
    signed = quantize_one(layer, (-x_largest, x_largest), (-y_largest, y_largest), bits)
    if rng.integers(4) == 0:
        return with_zero_points(rng, signed)
    signed = QuantizedLayer.of(layer, requantized(rng, layer, signed.formats), signed.bounds)
    return signed if rng.integers(2) else replace(signed, bounds=((0, signed.formats.x.high),))


def requantized(rng: np.random.Generator, layer: Layer, formats: LayerFormats) -> LayerFormats:
    """Return the formats as they are, with a first shift, shifts alone, or 16 bits out, where sums keep to 32 bits."""
    own = formats.shifted
    assert own
    bits = min(int(rng.integers(1, 6)), own.post_shift)
    first_shift = replace(own, pre_shift=bits, post_shift=own.post_shift - bits)
    shifts = replace(own, factors=(1,), post_shift=own.post_shift - bits)
    changed = (
        formats,
        replace(formats, requantization=first_shift),
        replace(formats, requantization=shifts),
        replace(
            formats,
            y=ValueFormat(16, formats.y.scale / 2**bits),
            requantization=replace(own, post_shift=own.post_shift - bits),
        ),
    )[rng.integers(4)]
    sums = layer.sum_bounds(QuantizedLayer.of(layer, changed))
    assert changed.shifted
    return changed if changed.shifted.largest(sums, 0) <= ACCUMULATOR_MAX else formats


def common(rng: np.random.Generator, *shape: int) -> dict[str, Any]:
    return {
        "name": "case",
        "inputs": ("x",),
        "output": "y",
        "in_shape": Shape(*shape),
        "activation": ACTIVATIONS[rng.integers(len(ACTIVATIONS))],
    }


def random_conv(rng: np.random.Generator) -> Layer:
    """Return a convolution whose windows overlap the map, or a pointwise one."""
    channels = int(rng.choice([1, 3, 4, 5, 8, 16, 34]))
    outputs = 4 * int(rng.choice([1, 2, 3, 16]))
    shape = Shape(int(rng.integers(9, 11)), int(rng.integers(9, 11)), channels)
    if rng.integers(2):
        window = Window((1, 1), (1, 1))
    else:
        k_h, k_w, s_h, s_w, d_h, d_w = rng.integers(1, 4, 6).tolist()
        window = Window((k_h, k_w), (s_h, s_w), (d_h, d_w), random_pads(rng, shape, 2))
    weights = floats(rng, outputs, *window.kernel, channels)
    return Conv(**common(rng, *shape), weights=weights, bias=floats(rng, outputs), window=window)


def random_dense(rng: np.random.Generator) -> Layer:
    inputs, outputs = int(rng.integers(1, 80)), 4 * int(rng.integers(1, 4))
    return Dense(**common(rng, 1, 1, inputs), weights=floats(rng, outputs, inputs), bias=floats(rng, outputs))


def random_depthwise(rng: np.random.Generator) -> Layer:
    """Return a depthwise convolution 3x3 of any stride along a row that has a kernel."""
    channels = int(rng.choice([1, 4, 6, 8, 16, 260]))
    strides = (int(rng.integers(1, 4)), int(rng.integers(1, 3)))
    shape = Shape(int(rng.integers(3, 6)), int(rng.integers(5, 9)), channels)
    window = Window((3, 3), strides, (1, 1), random_pads(rng, shape, 2, (3, 3)))
    weights, bias = floats(rng, 3, 3, channels), floats(rng, channels)
    return DepthwiseConv(**common(rng, *shape), weights=weights, bias=bias, window=window)


def random_runs(rng: np.random.Generator) -> Layer:
    """Return a depthwise convolution of any window with stride 1 along rows or columns, sometimes a line."""
    channels = int(rng.choice([1, 3, 8, 40]))
    (height, width), kernel, strides = rng.integers(6, 15, 2).tolist(), rng.integers(1, 6, 2).tolist(), [1, 1]
    if rng.integers(3) == 0:
        height, width, kernel = 1, int(rng.integers(17, 40)), [1, int(rng.integers(2, 15))]
    elif rng.integers(2):
        strides = [2, 1]
    sizes, order = Shape(height, width, channels), (0, 1)
    if rng.integers(2):
        sizes, order = Shape(width, height, channels), (1, 0)
    kernel, strides = ([each[axis] for axis in order] for each in (kernel, strides))
    pads = random_pads(rng, sizes, 2, (kernel[0], kernel[1])) if height > 1 else Pads()
    window = Window((kernel[0], kernel[1]), (strides[0], strides[1]), (1, 1), pads)
    weights, bias = floats(rng, *kernel, channels), floats(rng, channels)
    return DepthwiseConv(**common(rng, *sizes), weights=weights, bias=bias, window=window)


MAKERS: dict[str, tuple[Callable[[np.random.Generator], Layer], Kernel, int]] = {
    "conv": (random_conv, Packed(), 8),
    "conv of two windows": (random_conv, TwoWindows(), 8),
    "conv from unpacked weights": (random_conv, Unpacked(), 8),
    "conv of 16 bits": (random_conv, Wide(), 16),
    "dense": (random_dense, Packed(), 8),
    "dense from bytes of weights": (random_dense, Streamed(), 8),
    "dense of 16 bits": (random_dense, Wide(), 16),
    "depthwise": (random_depthwise, Sliding(), 8),
    "depthwise of any window": (random_runs, RunsOfChannels(), 8),
    "depthwise of 16 bits": (random_depthwise, Sliding(), 16),
}


def random_kernels(kind: str, count: int = len(CASES), *, is_tflite: bool = False) -> dict[int, LayerSource]:
    """Return `count` random kernels of a kind, perhaps requantized as in .tflite files: the first that fit the core."""
    rng = np.random.default_rng(0)
    maker, kernel, bits = MAKERS[kind]
    drawn = (quantized(rng, maker(rng), bits) for _ in range(10 * count))
    if is_tflite:
        own = (as_tflite(rng, quantize_one(maker(rng), (-1.0, 1.0), (-2.0, 2.0), bits)) for _ in range(10 * count))
        drawn = (each for each in own if each.formats.shifted is None)
    fitting = [LayerSource(q, kernel) for q in drawn if kernel.fits(q.layer, CORTEX_M0PLUS, Widths.of(q.formats))]
    assert len(fitting) >= count
    return dict(enumerate(fitting[:count], 1))


def allowed_inputs(source: LayerSource) -> list[IntArray]:
    """Return hard inputs within the bounds of the layer."""
    low, high = source.quantized.x_bounds
    return [x.clip(low, high) for x in hard_inputs(np.random.default_rng(1), source.quantized)]


def reference(source: LayerSource, inputs: list[IntArray]) -> bytes:
    return source.quantized.layer.integer_reference(source.quantized, *inputs).tobytes()
