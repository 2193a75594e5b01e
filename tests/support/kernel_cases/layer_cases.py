"""Random layers of every kind, quantized, and the integers that are hardest for their kernels."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tinysplit.common.errors import InputError
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.fixed_point.arithmetic import TfliteRequantization
from tinysplit.network.fixed_point.formats import IntArray, ValueFormat
from tinysplit.network.graph import Graph
from tinysplit.network.layers import (
    Activation,
    Add,
    ArgMax,
    AveragePool,
    Cell,
    Concat,
    Conv,
    ConvTranspose,
    Dense,
    DepthwiseConv,
    Layer,
    Lookup,
    MatMul,
    MaxPool,
    Mul,
    Normalization,
    Pad,
    Pads,
    Permute,
    PRelu,
    Recurrent,
    Shape,
    Softmax,
    Upsample,
    Window,
)
from tinysplit.network.quantized_graph import QuantizedLayer
from tinysplit.quantize.choose_formats import choose_formats, quantize

ACTIVATIONS = (Activation(), Activation(0.0, np.inf), Activation(0.0, 6.0), Activation(-0.5, 1.5))


def one_layer_graph(layer: Layer) -> Graph:
    """Return a network of one layer."""
    return Graph.of_layers("one layer", [layer])


def quantize_one(
    layer: Layer, x_range: tuple[float, float], y_range: tuple[float, float], bits: int, seed: int | None = None
) -> QuantizedLayer:
    """Return a layer in fixed point for values of these ranges; another input has a quarter of the first one's.

    A `seed` gives every value and all weights 8 or 16 bits at random in place of `bits`.
    """
    sources = [_source(name, shape) for name, shape in zip(layer.inputs[1:], layer.in_shapes[1:], strict=True)]
    graph = Graph.of_layers("one layer and its sources", [*sources, layer])
    quarter = (x_range[0] / 4, x_range[1] / 4)
    ranges = {"x": x_range, layer.output: y_range} | {source.output: quarter for source in sources}
    widths = BitWidths.all(graph, bits) if seed is None else _random_widths(np.random.default_rng(seed), graph)
    return quantize(graph, choose_formats(graph, ranges, widths), bits).layers[-1]


def _random_widths(rng: np.random.Generator, graph: Graph) -> BitWidths:
    widths = BitWidths.all(graph, 8)
    for name in graph.value_names:
        widths = widths.with_value(graph, name, int(rng.choice([8, 16])))
    for name in widths.weights:
        widths = widths.with_weights(name, int(rng.choice([8, 16])))
    return widths


def _source(name: str, shape: Shape) -> Layer:
    """Return a layer whose output has a format of its own; what it reads does not matter."""
    window = Window((1, 1))
    return DepthwiseConv(
        name=name,
        inputs=("x",),
        output=name,
        in_shape=shape,
        weights=np.ones((1, 1, shape.channels), np.float32),
        bias=np.zeros(shape.channels, np.float32),
        window=window,
    )


def random_quantized(rng: np.random.Generator, kind: str, bits: int) -> QuantizedLayer:
    """Return a random layer of `kind` in formats for random ranges, which may saturate or lose most bits."""
    layer = MAKERS[kind](rng)
    x_largest, y_largest = 2.0 ** rng.uniform(-3, 5, 2)
    return quantize_one(layer, (-x_largest, x_largest), (-y_largest, y_largest), bits)


def random_mixed(rng: np.random.Generator, kind: str) -> QuantizedLayer:
    """Return a random layer of `kind` with 8 or 16 bits in its inputs, its weights and its output."""
    return quantize_one(MAKERS[kind](rng), (-2.0, 2.0), (-4.0, 4.0), 16, seed=int(rng.integers(1 << 30)))


def with_zero_points(rng: np.random.Generator, quantized: QuantizedLayer) -> QuantizedLayer:
    """Return a layer as imported quantized networks have it, with zero points where its sums leave room for them."""
    formats = quantized.formats

    def shifted(values: ValueFormat) -> ValueFormat:
        return ValueFormat(values.bits, values.scale, int(rng.integers(values.low, values.high, endpoint=True)))

    inputs = tuple(map(shifted, formats.inputs))
    y = inputs[0] if quantized.layer.keeps_format else shifted(formats.y)
    formats = replace(formats, inputs=inputs, y=y)
    if len(formats.inputs) > 1:
        return QuantizedLayer.of(quantized.layer, formats, tuple((x.low, x.high) for x in formats.inputs))
    try:
        return quantize(one_layer_graph(quantized.layer), [formats], formats.x.bits).layers[0]
    except InputError:
        return quantized


def with_other_scales(rng: np.random.Generator, quantized: QuantizedLayer) -> QuantizedLayer:
    """Return a layer with scales that are no powers of two, as imported quantized networks have them."""
    layer, formats = quantized.layer, quantized.formats
    *inputs, wanted = (
        ValueFormat(values.bits, values.scale * rng.uniform(1, 2)) for values in (*formats.inputs, formats.y)
    )
    formats = replace(formats, inputs=tuple(inputs), y=layer.output_format(inputs, wanted))
    return QuantizedLayer.of(layer, formats, quantized.bounds)


def as_tflite(rng: np.random.Generator, quantized: QuantizedLayer) -> QuantizedLayer:
    """Return a layer with 8-bit weights as .tflite files have it: requantized as in TensorFlow Lite, with zero points.

    A layer whose sums are too large stays as it is.
    The output has finer steps, so that some channels may have ratios from 1/2 on, which take no shift; often none lies
    below its zero point.
    """
    formats = quantized.formats
    corrections = np.broadcast_to(formats.sum_scales / formats.y.scale, quantized.layer.out_shape.channels)
    finer = 2.0 ** rng.uniform(0, np.log2(0.99 / corrections.max()))
    x_zero, y_zero = rng.integers(-128, 128, 2).tolist()
    zero_points = x_zero, y_zero if rng.random() < 0.5 else -128
    scales = formats.x.scale, formats.y.scale / finer
    x, y = (ValueFormat(8, scale, zero) for scale, zero in zip(scales, zero_points, strict=True))
    rounding: Literal["once", "twice"] = "once" if isinstance(quantized.layer, Dense) else "twice"
    requantization = TfliteRequantization.of(corrections * finer, rounding)
    formats = replace(formats, inputs=(x,), y=y, requantization=requantization)
    operator = "FULLY_CONNECTED" if rounding == "once" else "CONV_2D"
    layer = replace(quantized.layer, tflite=operator, qdq_scales=formats.weight_scales)
    try:
        return quantize(one_layer_graph(layer), [formats], 8).layers[0]
    except InputError:
        return quantized


def hard_inputs(rng: np.random.Generator, quantized: QuantizedLayer) -> list[IntArray]:
    """Return an array N x H x W x C for every input: extremes, extremes at random, random values, a few small ones.

    Of several inputs every other one has the other extremes than the first.
    """
    layer, formats = quantized.layer, quantized.formats
    inputs = [_hard_values(rng, x, shape) for x, shape in zip(formats.inputs, layer.in_shapes, strict=True)]
    return [inputs[0], *(np.roll(x, turn % 2, axis=0) for turn, x in enumerate(inputs[1:], 1))]


def _hard_values(rng: np.random.Generator, x: ValueFormat, shape: Shape) -> IntArray:
    inputs = [
        np.full(shape, x.low),
        np.full(shape, x.high),
        np.full(shape, x.low),
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
        window = Window((k_h, k_w), (s_h, s_w), (d_h, d_w), random_pads(rng, in_shape, largest_pad))
        out = window.out_shape(in_shape, 1)
        if out.height > 0 and out.width > 0:
            return window


def random_pads(rng: np.random.Generator, in_shape: Shape, largest: int, kernel: tuple[int, int] = (1, 1)) -> Pads:
    """Return padding of a map, below 0 where windows leave out its end, but for the first one."""
    top, left = rng.integers(0, largest, 2, endpoint=True).tolist()
    left_out = (min(largest, size - own) for size, own in zip(in_shape[:2], kernel, strict=True))
    bottom, right = (int(rng.integers(-most, largest, endpoint=True)) for most in left_out)
    return Pads(top, left, bottom, right)


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


def _arg_max(rng: np.random.Generator) -> Layer:
    common = {**_common(rng, int(rng.integers(1, 20))), "activation": Activation()}
    return ArgMax(**common, picks_last=bool(rng.integers(2)))


def _softmax(rng: np.random.Generator) -> Layer:
    fields = {**_common(rng, int(rng.integers(1, 20))), "activation": Activation()}
    height, width, channels = fields["in_shape"]
    masked = rng.integers(2, size=(height, int(rng.choice([1, width])), channels)) == 0
    masked[..., rng.integers(channels)] = False
    return Softmax(**fields, masked=masked if rng.integers(2) else None)


def _add(rng: np.random.Generator) -> Layer:
    common = _joining(rng, int(rng.integers(2, 5)))
    return Add(**common, signs=tuple(rng.choice([-1, 1], len(common["inputs"])).tolist()))


def _mul(rng: np.random.Generator) -> Layer:
    return Mul(**_joining(rng, 2))


def _joining(rng: np.random.Generator, inputs: int) -> dict[str, Any]:
    """Return fields of a layer with several inputs, each as large as the first or a vector of its channels."""
    common = _common(rng, int(rng.integers(1, 9)))
    shape = common["in_shape"]
    vector = Shape(1, 1, shape.channels)
    others = tuple(vector if rng.integers(3) == 0 else shape for _ in range(inputs - 1))
    return {**common, "inputs": ("x", *(f"x{i}" for i in range(1, inputs))), "other_shapes": others}


def _matmul(rng: np.random.Generator) -> Layer:
    common = _common(rng, int(rng.integers(1, 20)))
    _, heads, terms = common["in_shape"]
    columns, transposed = int(rng.integers(1, 12)), bool(rng.integers(2))
    other = Shape(columns, heads, terms) if transposed else Shape(terms, heads, columns)
    fields = {**common, "inputs": ("x", "x1"), "other_shapes": (other,)}
    return MatMul(**fields, transposed=transposed, scale=float(2.0 ** rng.uniform(-4, 1)))


def _recurrent(rng: np.random.Generator) -> Layer:
    cell = list(Cell)[rng.integers(3)]
    steps, inputs, units = (int(n) for n in rng.integers(1, (9, 8, 9)))
    rows, scale = cell.gates * units, 2.0 ** rng.uniform(-3, 3)
    first = units * (rng.integers(3) == 0)
    given = {"given_h": bool(rng.integers(2)), "given_c": cell is Cell.LSTM and bool(rng.integers(2))}
    fields = {**_common(rng, inputs), "in_shape": Shape(1, steps, inputs), "activation": Activation()}
    fields |= {"inputs": ("x", "h", "c")[: 1 + sum(given.values())], **given}
    return Recurrent(
        **fields,
        cell=cell,
        weights_x=(scale * rng.normal(size=(rows, inputs))).astype(np.float32),
        weights_h=(scale * rng.normal(size=(rows, units))).astype(np.float32),
        bias_x=_floats(rng, rows),
        bias_h=_floats(rng, rows),
        first_h=rng.uniform(-1, 1, first).astype(np.float32),
        first_c=rng.uniform(-3, 3, first * (cell is Cell.LSTM)).astype(np.float32),
        resets_product=cell is Cell.GRU and bool(rng.integers(2)),
        is_relu=cell is Cell.RNN and bool(rng.integers(2)),
        reverse=bool(rng.integers(2)),
        only_last=bool(rng.integers(2)),
        gives_cell=cell is Cell.LSTM and not rng.integers(3),
    )


def _concat(rng: np.random.Generator) -> Layer:
    common = _joining(rng, int(rng.integers(2, 5)))
    height, width, _ = common["in_shape"]
    others = tuple(Shape(height, width, int(rng.integers(1, 6))) for _ in common["other_shapes"])
    return Concat(**{**common, "other_shapes": others})


def _lookup(rng: np.random.Generator) -> Layer:
    functions = (np.tanh, np.sin, np.abs, np.negative)
    function = functions[rng.integers(len(functions))]
    return Lookup(**_common(rng, int(rng.integers(1, 9))), function=function)


def _prelu(rng: np.random.Generator) -> Layer:
    common = _common(rng, int(rng.integers(1, 9)))
    return PRelu(**common, slopes=_floats(rng, common["in_shape"].channels))


def _normalization(rng: np.random.Generator) -> Layer:
    groups = int(rng.integers(1, 5))
    common = _common(rng, groups * int(rng.choice((1, 2, 4, 8, 12))))
    channels = common["in_shape"].channels
    over_map, centers = (bool(choice) for choice in rng.integers(2, size=2))
    parameters: dict[str, Any] = {
        "gamma": _floats(rng, channels),
        "beta": _floats(rng, channels),
        "epsilon": 10.0 ** int(rng.integers(-12, 1)),
    }
    return Normalization(**common, **parameters, groups=groups, over_map=over_map, centers=centers)


def _upsample(rng: np.random.Generator) -> Layer:
    factors = rng.integers(1, 4, 2).tolist()
    return Upsample(**_common(rng, int(rng.integers(1, 9))), factors=(factors[0], factors[1]))


def _pad(rng: np.random.Generator) -> Layer:
    pads = Pads(*rng.integers(0, 3, 4).tolist())
    before, after = rng.integers(0, 3, 2).tolist() if rng.integers(2) else (0, 0)
    common = _common(rng, int(rng.integers(1, 9)))
    return Pad(**common, pads=pads, channels=(before, after), value=float(rng.normal()))


def _permute(rng: np.random.Generator) -> Layer:
    common = _common(rng, int(rng.integers(1, 9)))
    order = np.arange(common["in_shape"].size).reshape(common["in_shape"])
    match rng.integers(4):
        case 0:
            order = order.transpose(rng.permutation(3).tolist())
        case 1:  # a range of each axis
            begins = [int(rng.integers(size)) for size in order.shape]
            order = order[tuple(slice(begin, None, int(rng.integers(1, 3))) for begin in begins)]
        case 2:  # any elements of each axis
            rows, columns, channels = (rng.integers(size, size=size + 1) for size in order.shape)
            order = order[np.ix_(rows, columns, channels)]
        case _:
            order = rng.integers(order.size, size=(1, 2, 5))
    return Permute(**common, new_shape=Shape(*order.shape), order=order.ravel())


def _conv_transpose(rng: np.random.Generator) -> Layer:
    common = _common(rng, int(rng.integers(1, 6)))
    kernel, stride, dilation, growth = ((int(a), int(b)) for a, b in rng.integers((1, 1, 1, 0), (4, 4, 3, 2), (2, 4)).T)
    rows, columns = (
        s * (n - 1) + d * (k - 1) + 1 for n, k, s, d in zip(common["in_shape"], kernel, stride, dilation, strict=False)
    )
    pads = Pads(*(int(rng.integers(0, min(size, 5) // 2 + 1)) for size in (rows, columns, rows - 1, columns - 1)))
    weights = _floats(rng, int(rng.integers(1, 6)), *kernel, common["in_shape"].channels)
    fields = {"stride": stride, "dilation": dilation, "pads": pads, "growth": growth}
    return ConvTranspose(**common, weights=weights, bias=_floats(rng, len(weights)), **fields)  # type: ignore[arg-type]


MAKERS: dict[str, Callable[[np.random.Generator], Layer]] = {
    "conv": _conv,
    "depthwise_conv": _depthwise,
    "dense": _dense,
    "max_pool": _max_pool,
    "average_pool": _average_pool,
    "softmax": _softmax,
    "arg_max": _arg_max,
    "add": _add,
    "mul": _mul,
    "concat": _concat,
    "lookup": _lookup,
    "prelu": _prelu,
    "normalization": _normalization,
    "upsample": _upsample,
    "pad": _pad,
    "permute": _permute,
    "matmul": _matmul,
    "recurrent": _recurrent,
    "conv_transpose": _conv_transpose,
}
KINDS_AND_BITS = [(kind, bits) for kind in MAKERS for bits in (8, 16)]
