"""The network in fixed point against the float network, layer by layer.

The error of a layer's output has two parts: what comes with its inputs, and what the layer itself adds. For the second
one, the layer computes the float inputs, rounded to its input formats. A value that only look-up tables and clamps read
is compared behind them (`read_errors`), as it may saturate where they are flat.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.float_reference import run_float_values
from tinysplit.network.graph import NETWORK_INPUT
from tinysplit.network.integer_reference import quantize_input, run_layers
from tinysplit.network.layers import Permute, Shape
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.quantize.read_errors import computed, functions
from tinysplit.quantize.statistics import decibels

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LayerError:
    """The signal to quantization-noise ratio of a layer's output in dB, infinite without noise.

    `own_sqnr_db` counts the noise that the layer itself adds; `worst_channel` (from 1) has the least `sqnr_db` of all
    channels. All are None for a value whose axes do not say where it lies on the board, `worst_channel` also for one of
    a single channel and without noise.
    """

    number: int
    name: str
    kind: str
    sqnr_db: float | None
    own_sqnr_db: float | None
    worst_channel: int | None
    worst_channel_sqnr_db: float | None


def layer_errors(quantized: QuantizedGraph, model: Path, x: NDArray[np.float32]) -> tuple[LayerError, ...]:
    """Return the errors of all layers on samples `x` (N x sample_shape), with the channels that programs lack.

    Raises InputError where ONNX Runtime cannot run the float network.
    """
    quantized = quantized.complete
    graph = quantized.graph
    integers = tuple(run_layers(quantized, quantize_input(quantized, x)))
    names = [layer.onnx_value for layer in graph.layers if layer.output not in graph.side_by_side]
    values = run_float_values(model, x, names, graph.qdq_formats)
    inputs = x.reshape(len(x), -1)[:, graph.input_order].reshape(len(x), *graph.in_shape).astype(np.float64)
    floats: dict[int, Floats | None] = {NETWORK_INPUT: inputs}
    for index, (layer, output) in enumerate(zip(graph.layers, integers, strict=True)):
        before = floats[graph.predecessors[index][0]]
        if layer.output in graph.side_by_side:
            floats[index] = None
        elif isinstance(layer, Permute):
            floats[index] = None if before is None else layer.moved(before)
        else:
            rounded = quantized.layers[index].formats.y.dequantize(output)
            floats[index] = _as_on_board(values[layer.onnx_value].astype(np.float64), layer.out_shape, rounded)
    return tuple(_error(quantized, index, output, floats) for index, output in enumerate(integers))


def loses_most(errors: Sequence[LayerError]) -> LayerError | None:
    """Return the layer that adds most noise, None where none adds any."""
    known = [each for each in errors if each.own_sqnr_db is not None and isfinite(each.own_sqnr_db)]
    return min(known, key=lambda each: each.own_sqnr_db or 0.0, default=None)


def _as_on_board(value: Floats, shape: Shape, rounded: Floats) -> Floats | None:
    """Return a float value (N x its ONNX shape) as N x H x W x C, None where its axes fit neither order of ONNX.

    Where both fit, it is the order that is nearer to the `rounded` value on the board.
    """
    orders = tuple(_orders(value, shape))
    return min(orders, key=lambda each: _power(each - rounded.reshape(each.shape)), default=None)


def _orders(value: Floats, shape: Shape) -> Iterator[Floats]:
    count, (height, width, channels) = len(value), shape
    axes = [size for size in value.shape[1:] if size > 1]
    if axes == [size for size in (channels, height, width) if size > 1]:
        yield np.moveaxis(value.reshape(count, channels, height, width), 1, 3)
    if axes == [size for size in shape if size > 1]:
        yield value.reshape(count, *shape)


def _error(quantized: QuantizedGraph, index: int, integers: IntArray, floats: dict[int, Floats | None]) -> LayerError:
    layer, value = quantized.layers[index], floats[index]
    about = (index + 1, layer.layer.name, layer.layer.kind)
    inputs = [floats[source] for source in quantized.graph.predecessors[index]]
    if value is None:
        return LayerError(*about, None, None, None, None)
    expected, actual = (_as_read(quantized, index, each) for each in (value, layer.formats.y.dequantize(integers)))
    channels = [_sqnr_db(expected[..., k], actual[..., k]) for k in range(value.shape[3])]
    worst = int(np.argmin(channels))
    has_worst = len(channels) > 1 and channels[worst] < inf
    known = [each for each in inputs if each is not None and not layer.layer.keeps_integers]
    own_db = _own_sqnr_db(quantized, index, known, expected) if len(known) == len(inputs) else None
    return LayerError(
        *about,
        _sqnr_db(expected, actual),
        own_db,
        worst + 1 if has_worst else None,
        channels[worst] if has_worst else None,
    )


def _as_read(quantized: QuantizedGraph, index: int, value: Floats) -> Floats:
    """Return all that is read of a layer's output (N x H x W x C in any shape): functions x N x H x W x C."""
    layer = quantized.graph.layers[index]
    value = value.reshape(len(value), *layer.out_shape)
    return np.stack([computed(function, value) for function in functions(quantized.graph, layer.output)])


def _own_sqnr_db(quantized: QuantizedGraph, index: int, inputs: Sequence[Floats], expected: Floats) -> float:
    layer = quantized.layers[index]
    rounded = (
        values.quantize(each).reshape(len(each), *shape)
        for each, values, shape in zip(inputs, layer.formats.inputs, layer.layer.in_shapes, strict=True)
    )
    output = layer.layer.integer_reference(layer, *rounded)
    return _sqnr_db(expected, _as_read(quantized, index, layer.formats.y.dequantize(output)))


def _sqnr_db(expected: Floats, actual: Floats) -> float:
    return decibels(_power(expected), _power(actual - expected))


def _power(values: Floats) -> float:
    return float((values**2).sum())
