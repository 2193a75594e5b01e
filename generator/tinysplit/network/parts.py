"""Parts of layers: a range of output rows or of output channels, computed as a layer of its own, bit-exact.

A **tile** is a range of rows, a **slice** some of the channels: a range, or a tuple of their numbers. Rows of a layer
with a window need the rows of its input under their windows; those of a product of two activations the same rows of the
first one, and the whole second one. Channels of a convolution or a dense layer need its whole input, those of other
layers the same channels of it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinysplit.network.fixed_point.integer_layer import IntegerParameters
from tinysplit.network.fixed_point.layer_formats import LayerFormats
from tinysplit.network.graph import Graph
from tinysplit.network.layers.arg_max import ArgMax
from tinysplit.network.layers.base import Layer, Shape
from tinysplit.network.layers.concat import Concat
from tinysplit.network.layers.conv import Conv
from tinysplit.network.layers.dense import Dense
from tinysplit.network.layers.depthwise_conv import DepthwiseConv
from tinysplit.network.layers.joining import Elementwise
from tinysplit.network.layers.lookup import Lookup
from tinysplit.network.layers.matmul import MatMul
from tinysplit.network.layers.normalization import Normalization
from tinysplit.network.layers.pool import Pool
from tinysplit.network.layers.prelu import PRelu
from tinysplit.network.layers.softmax import Softmax
from tinysplit.network.layers.window import layer_window


def rows_read(layer: Layer, k: int, rows: range) -> range | None:
    """Return the rows of input k that output rows `rows` need; None where rows cannot be computed apart."""
    height = layer.in_shapes[k].height
    if isinstance(layer, Conv | DepthwiseConv | Pool):
        under = layer.window.under(rows)
        return range(max(under.start, 0), min(under.stop, height)) if under.start < height and under.stop > 0 else None
    if isinstance(layer, MatMul) and k == 1:
        return range(height)
    if not _keeps_rows(layer):
        return None
    return rows if height == layer.out_shape.height else range(height)


def has_rows(graph: Graph, number: int) -> bool:
    """Return whether rows of a layer can be computed apart; not if it reads tensors in other rows."""
    layer = graph.layers[number]
    rows = range(layer.out_shape.height)
    return all(
        _have_equal_rows(shape, graph.shape(source)) and rows_read(layer, k, rows) is not None
        for k, (shape, source) in enumerate(zip(layer.in_shapes, graph.predecessors[number], strict=True))
    )


def _have_equal_rows(shape: Shape, other: Shape) -> bool:
    """Return whether rows of two shapes are the same elements, whatever pixels they are divided into."""
    return shape.height == other.height and shape.size == other.size


def rows_of_source(graph: Graph, number: int, k: int, rows: range) -> range:
    """Return the rows of the tensor of input k that output rows `rows` of a layer need."""
    read = rows_read(graph.layers[number], k, rows) if has_rows(graph, number) else None
    return range(graph.shape(graph.predecessors[number][k]).height) if read is None else read


def needed_rows(graph: Graph, sliced: Collection[int] = ()) -> Mapping[int, range]:
    """Return the rows of each tensor, from the first to the last, that the network's output depends on.

    Pools and strides that do not divide a height leave rows out, and with them rows of all layers before. Layers that
    are `sliced` compute all rows.
    """
    needed = {len(graph.layers) - 1: range(graph.out_shape.height)}
    for number in reversed(range(len(graph.layers))):
        for k, source in enumerate(graph.predecessors[number]):
            every_row = range(graph.shape(source).height)
            rows = every_row if number in sliced else rows_of_source(graph, number, k, needed[number])
            needed[source] = hull(needed.get(source, range(0)), rows)
    return needed


def hull(rows: range, others: range) -> range:
    """Return the rows from the first to the last of both."""
    if not rows or not others:
        return rows or others
    return range(min(rows.start, others.start), max(rows.stop, others.stop))


def tile_of(layer: Layer, rows: range) -> Layer:
    """Return the layer that computes output rows `rows` from the rows of each input that `rows_read` gives."""
    heights = [len(_read(layer, k, rows)) for k in range(len(layer.in_shapes))]
    shapes = [shape._replace(height=n) for shape, n in zip(layer.in_shapes, heights, strict=True)]
    changed: dict[str, Any] = {}
    if isinstance(layer, Softmax) and layer.masked is not None:
        changed["masked"] = layer.masked[rows.start : rows.stop]
    window = layer_window(layer)
    if window:
        under = window.under(rows)
        pads = window.pads._replace(top=max(-under.start, 0), bottom=max(under.stop - layer.in_shape.height, 0))
        changed["window"] = replace(window, pads=pads)
    return replace(layer.with_in_shapes(shapes), **changed)


def reads_whole_input(layer: Layer) -> bool:
    """Return whether each output channel of a layer that can be sliced reads all channels of the input."""
    return isinstance(layer, Dense) or (isinstance(layer, Conv) and layer.groups == 1)


def can_be_sliced(layer: Layer) -> bool:
    """Return whether a range of output channels can be computed apart."""
    if isinstance(layer, DepthwiseConv | Pool | Lookup | Elementwise):
        return True
    return reads_whole_input(layer)


def slice_of(layer: Layer, channels: range | tuple[int, ...]) -> Layer:
    """Return the layer that computes output channels `channels`, from the whole input or from the same channels."""
    changed: dict[str, Any] = dict(_sliced_parameters(layer, channels))
    if layer.qdq_scales is not None and layer.qdq_scales.size > 1:
        changed["qdq_scales"] = np.take(layer.qdq_scales, channels)
    if not reads_whole_input(layer):
        layer = layer.with_in_shapes([_sliced(shape, channels) for shape in layer.in_shapes])
    return replace(layer, **changed)


@lru_cache(maxsize=512)
def _sliced_parameters(layer: Layer, channels: range | tuple[int, ...]) -> Mapping[str, NDArray[np.float32]]:
    """Return parameters of a slice: the same arrays each time, so that its costs are known."""
    axes = {"weights": layer.channel_axis}
    return {name: np.take(values, channels, axes.get(name, 0)) for name, values in layer.parameters.items()}


def slice_of_formats(formats: LayerFormats, channels: Sequence[int]) -> LayerFormats:
    """Return the formats of `slice_of` a layer."""
    if formats.requantization is None:
        return formats
    return replace(formats, requantization=formats.requantization.of_channels(channels))


def slice_of_parameters(layer: Layer, parameters: IntegerParameters, channels: Sequence[int]) -> IntegerParameters:
    """Return the integer weights and bias of `slice_of` a layer."""
    weights = np.take(parameters.weights, channels, layer.channel_axis)
    return IntegerParameters(weights, np.take(parameters.bias, channels))


def _read(layer: Layer, k: int, rows: range) -> range:
    read = rows_read(layer, k, rows)
    if read is None:
        raise ValueError(f"rows {rows} of layer {layer.name} cannot be computed apart")
    return read


def _keeps_rows(layer: Layer) -> bool:
    if isinstance(layer, Normalization):
        return not layer.over_map
    return isinstance(layer, ArgMax | Elementwise | Concat | Lookup | MatMul | PRelu | Softmax)


def _sliced(shape: Shape, channels: Sequence[int]) -> Shape:
    return shape._replace(channels=len(channels))
