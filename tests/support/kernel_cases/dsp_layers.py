"""Random layers of shapes that suit the kernels of cores with DSP instructions."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_cases.layer_cases import quantize_one, random_pads
from tinysplit.network.layers import (
    Activation,
    AveragePool,
    Conv,
    ConvTranspose,
    Dense,
    DepthwiseConv,
    Layer,
    MaxPool,
    Pads,
    Shape,
    Window,
)
from tinysplit.network.quantized_graph import QuantizedLayer

RELU = Activation(0.0)
Maker = Callable[[np.random.Generator], Layer]


def random_window(rng: np.random.Generator, shape: Shape, kernel: tuple[int, int]) -> Window:
    while True:
        stride = tuple(rng.integers(1, 3, 2).tolist())
        pads = random_pads(rng, shape, 2) if rng.integers(3) else Pads()
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


def grouped_conv(rng: np.random.Generator) -> Layer:
    groups, inputs, outputs = int(rng.integers(2, 5)), int(rng.choice([2, 4, 6, 8])), int(rng.choice([2, 4, 6]))
    fields = common(rng, groups * inputs)
    kernel = (1, 1) if rng.integers(3) == 0 else tuple(rng.integers(1, 4, 2).tolist())
    window = random_window(rng, fields["in_shape"], (kernel[0], kernel[1]))
    weights = floats(rng, groups * outputs, *window.kernel, inputs)
    return Conv(**fields, weights=weights, bias=floats(rng, groups * outputs), window=window, groups=groups)


def dilated_conv(rng: np.random.Generator) -> Layer:
    fields = common(rng, int(rng.choice([2, 4, 6, 8])))
    outputs, kernel = int(rng.integers(1, 11)), (int(rng.integers(1, 3)), int(rng.integers(2, 4)))
    fields["in_shape"] = fields["in_shape"]._replace(height=int(rng.integers(1, 5)), width=int(rng.integers(9, 30)))
    stride, dilation = (1, int(rng.integers(1, 3))), (1, int(rng.integers(2, 4)))
    pads = Pads(1, int(rng.integers(0, 5)), 1, int(rng.integers(0, 5)))
    weights = floats(rng, outputs, *kernel, fields["in_shape"].channels)
    window = Window(kernel, stride, dilation, pads)
    return Conv(**fields, weights=weights, bias=floats(rng, outputs), window=window)


def conv_transpose(rng: np.random.Generator) -> Layer:
    fields = common(rng, int(rng.choice([1, 2, 3, 4, 8])))
    stride = rng.integers(1, 4, 2)
    kernel, outputs = (stride + rng.integers(0, 3, 2)).tolist(), 2 * int(rng.integers(1, 4))
    pads = Pads(*rng.integers(0, 2, 4).tolist())
    weights = floats(rng, outputs, *kernel, fields["in_shape"].channels)
    layer = ConvTranspose(
        **fields,
        weights=weights,
        bias=floats(rng, outputs),
        stride=(int(stride[0]), int(stride[1])),
        dilation=(1, 1),
        pads=pads,
        growth=(int(rng.integers(0, stride[0])), int(rng.integers(0, stride[1]))),
    )
    return layer if min(layer.out_shape[:2]) > 0 else conv_transpose(rng)


def depthwise_conv(rng: np.random.Generator) -> Layer:
    fields = common(rng, int(rng.choice([2, 4, 6])))
    fields["in_shape"] = fields["in_shape"]._replace(height=int(rng.choice([3, 7, 60])))
    height, width = int(rng.choice([2, 3, 4, 6])), int(rng.choice([3, 3, 3, 2, 4, 5, 7]))
    fields["in_shape"] = fields["in_shape"]._replace(height=max(height, fields["in_shape"].height))
    window = random_window(rng, fields["in_shape"]._replace(width=9), (height, width))
    fields["in_shape"] = fields["in_shape"]._replace(width=width + int(rng.integers(2, 9)))
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


def tiled_conv(rng: np.random.Generator) -> Layer:
    fields = common(rng, int(rng.choice([4, 8, 20])))
    height, width = (2 * rng.integers(1, 6, 2)).tolist()
    pads = Pads(*rng.integers(0, 3, 2).tolist(), *rng.integers(-2, 3, 2).tolist())
    in_shape = Shape(
        height + 2 - pads.top - pads.bottom, width + 2 - pads.left - pads.right, fields["in_shape"].channels
    )
    if min(in_shape) < 1:
        return tiled_conv(rng)
    outputs = int(rng.choice([4, 8, 12]))
    weights = floats(rng, outputs, 3, 3, in_shape.channels)
    fields["in_shape"] = in_shape
    return Conv(**fields, weights=weights, bias=floats(rng, outputs), window=Window((3, 3), pads=pads))
