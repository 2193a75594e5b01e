"""Random layers of every kind, quantized, and the integers that are hardest for their kernels."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinysplit.graph import Graph
from tinysplit.layers import (
    Activation,
    AveragePool,
    Conv,
    Dense,
    DepthwiseConv,
    Layer,
    MaxPool,
    Pads,
    Shape,
    Softmax,
    Window,
)
from tinysplit.qformat import IntArray
from tinysplit.quantize import choose_formats, quantize
from tinysplit.quantized import QuantizedLayer

ACTIVATIONS = (Activation(), Activation(0.0, np.inf), Activation(0.0, 6.0), Activation(-0.5, 1.5))


def one_layer_graph(layer: Layer) -> Graph:
    """Return a network of one layer."""
    return Graph.of_layers("one layer", [layer])


def quantize_one(layer: Layer, x_range: tuple[float, float], y_range: tuple[float, float], bits: int) -> QuantizedLayer:
    """Return a layer in fixed point for values of these ranges."""
    graph = one_layer_graph(layer)
    formats = choose_formats(graph, {"x": x_range, layer.output: y_range}, bits)
    return quantize(graph, formats, bits).layers[0]


def random_quantized(rng: np.random.Generator, kind: str, bits: int) -> QuantizedLayer:
    """Return a random layer of `kind` in formats for random ranges, which may saturate or lose most bits."""
    layer = MAKERS[kind](rng)
    x_largest, y_largest = 2.0 ** rng.uniform(-3, 5, 2)
    return quantize_one(layer, (-x_largest, x_largest), (-y_largest, y_largest), bits)


def hard_inputs(rng: np.random.Generator, quantized: QuantizedLayer) -> IntArray:
    """Return inputs N x H x W x C: both extremes everywhere, extremes at random, random values, a few small ones."""
    x, shape = quantized.formats.x, quantized.layer.in_shape
    inputs = [
        np.full(shape, x.low),
        np.full(shape, x.high),
        rng.choice([x.low, x.high], shape),
        rng.integers(x.low, x.high, shape, endpoint=True),
        rng.integers(-2, 2, shape, endpoint=True),
    ]
    return np.stack(inputs).astype(x.dtype)


def _common(rng: np.random.Generator, channels: int) -> dict[str, Any]:
    height, width = rng.integers(1, 9, 2).tolist()
    activation = ACTIVATIONS[rng.integers(len(ACTIVATIONS))]
    return {
        "name": "case",
        "inputs": ("x",),
        "output": "y",
        "in_shape": Shape(height, width, channels),
        "activation": activation,
    }


def _window(rng: np.random.Generator, in_shape: Shape, largest_pad: int) -> Window:
    """Return a window that fits at least once."""
    while True:
        k_h, k_w, s_h, s_w, d_h, d_w = rng.integers(1, 4, 6).tolist()
        pads = Pads(*rng.integers(0, largest_pad, 4, endpoint=True).tolist())
        window = Window((k_h, k_w), (s_h, s_w), (d_h, d_w), pads)
        out = window.out_shape(in_shape, 1)
        if out.height > 0 and out.width > 0:
            return window


def _floats(rng: np.random.Generator, *shape: int) -> NDArray[np.float32]:
    """Return floats of a random magnitude; sometimes all of them as large as each other, or zero."""
    choice = rng.integers(10)
    scale = 0.0 if choice == 0 else 2.0 ** rng.uniform(-6, 3)
    values = rng.choice([-1.0, 1.0], shape) if choice == 1 else rng.normal(size=shape)
    return np.asarray(scale * values, dtype=np.float32)


def _conv(rng: np.random.Generator) -> Layer:
    groups, inputs, outputs = (int(n) for n in rng.integers(1, (4, 6, 6)))
    groups = groups if rng.integers(2) else 1
    common = _common(rng, groups * inputs)
    window = _window(rng, common["in_shape"], 3)
    weights = _floats(rng, groups * outputs, *window.kernel, inputs)
    return Conv(**common, weights=weights, bias=_floats(rng, groups * outputs), window=window, groups=groups)


def _depthwise(rng: np.random.Generator) -> Layer:
    channels = int(rng.integers(1, 9))
    common = _common(rng, channels)
    window = _window(rng, common["in_shape"], 3)
    weights = _floats(rng, *window.kernel, channels)
    return DepthwiseConv(**common, weights=weights, bias=_floats(rng, channels), window=window)


def _dense(rng: np.random.Generator) -> Layer:
    outputs = int(rng.integers(1, 9))
    common = _common(rng, int(rng.integers(1, 9)))
    weights = _floats(rng, outputs, common["in_shape"].size)
    return Dense(**common, weights=weights, bias=_floats(rng, outputs))


def _max_pool(rng: np.random.Generator) -> Layer:
    common = _common(rng, int(rng.integers(1, 9)))
    return MaxPool(**common, window=_window(rng, common["in_shape"], 2))


def _average_pool(rng: np.random.Generator) -> Layer:
    common = _common(rng, int(rng.integers(1, 9)))
    shape = common["in_shape"]
    while True:
        window = _window(rng, shape, 1)
        include_pad = bool(rng.integers(2))
        if include_pad or window.counts(shape).all():
            return AveragePool(**common, window=window, count_include_pad=include_pad)


def _softmax(rng: np.random.Generator) -> Layer:
    return Softmax(**{**_common(rng, int(rng.integers(1, 20))), "activation": Activation()})


MAKERS: dict[str, Callable[[np.random.Generator], Layer]] = {
    "conv": _conv,
    "depthwise_conv": _depthwise,
    "dense": _dense,
    "max_pool": _max_pool,
    "average_pool": _average_pool,
    "softmax": _softmax,
}
KINDS_AND_BITS = [(kind, bits) for kind in MAKERS for bits in (8, 16)]
