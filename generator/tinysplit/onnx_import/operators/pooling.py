"""Pooling over windows or the whole map, and reductions over the spatial axes."""

from collections.abc import Callable
from dataclasses import replace
from math import prod

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from tinysplit.network.layers import AveragePool, DepthwiseConv, Layer, MaxPool, Pads, Shape, Window
from tinysplit.network.layers.pad import MINUS_INFINITY
from tinysplit.onnx_import.graph_builder import GraphBuilder
from tinysplit.onnx_import.layout import Layout
from tinysplit.onnx_import.node import Node, Producer, Refusal, Tensor
from tinysplit.onnx_import.operators.declaration import TakenPad, operator
from tinysplit.onnx_import.operators.window import (
    MAP_RANKS,
    WINDOW_ATTRIBUTES,
    WINDOW_REFUSALS,
    fitting,
    reach,
    window_of,
)

PADDING_ALONE = Refusal("has a window over padding alone, which has no value: make its pads {} smaller")
SAME_AND_DILATIONS = Refusal(
    "has auto_pad and dilations, from which ONNX and ONNX Runtime compute other shapes: export it with pads"
)
POOL_REFUSALS = (PADDING_ALONE, SAME_AND_DILATIONS, *WINDOW_REFUSALS)
POOL_ATTRIBUTES = (*WINDOW_ATTRIBUTES, "ceil_mode")
REDUCTION_ATTRIBUTES = ("axes", "keepdims", "noop_with_empty_axes")


@operator(
    "MaxPool",
    attributes=POOL_ATTRIBUTES,
    ignored=("storage_order",),  # of the indices of maxima
    layers=(MaxPool,),
    refusals=POOL_REFUSALS,
    taken_pad=TakenPad.ANY,
)
def max_pool(node: Node, builder: GraphBuilder) -> Tensor:
    """Add a `MaxPool`; a Pad in front may hold -infinity, or 0 where the values are never negative."""
    producer, in_shape, padded = builder.as_map(node)
    value = node.tensor.layout.pad_value
    never_wins = value <= MINUS_INFINITY or (
        value == 0 and isinstance(producer, Layer) and producer.activation.low >= 0
    )
    window = _pool_window(node, in_shape, padded)
    if any(padded) and (not never_wins or _has_empty_windows(window, in_shape)):
        return max_pool(replace(node, operands=(builder.padded(node, node.tensor),)), builder)
    _check_windows(node, window, in_shape)
    return _appended(node, builder, _max_pool(node, builder.source(producer), in_shape, window))


@operator(
    "AveragePool",
    attributes=(*POOL_ATTRIBUTES, "count_include_pad"),
    layers=(AveragePool,),
    refusals=POOL_REFUSALS,
    taken_pad=TakenPad.ZEROS,
)
def average_pool(node: Node, builder: GraphBuilder) -> Tensor:
    """Add an `AveragePool`; a Pad with 0 in front counts in the divisor, as pads do with `count_include_pad`.

    What ceil_mode adds at the end never counts (PyTorch, AvgPool2d). Where only some of the padding counts, that part
    becomes a layer.
    """
    producer, in_shape, padded = builder.as_map(node)
    window = _pool_window(node, in_shape, padded)
    if any(padded) and _has_empty_windows(window, in_shape):
        return average_pool(replace(node, operands=(builder.padded(node, node.tensor),)), builder)
    _check_windows(node, window, in_shape)
    counted = _flooring_window(node, in_shape, padded).pads if node.attributes.get("count_include_pad", 0) else padded
    if any(counted) and counted != window.pads:
        producer = builder.zeros_around(node, producer, in_shape, counted)
        pads = Pads(*(whole - part for whole, part in zip(window.pads, counted, strict=True)))
        window = replace(window, pads=pads)
        in_shape = producer.out_shape
        counted = Pads()
    layer = _average_pool(node, builder.source(producer), in_shape, window, counts=any(counted))
    return _appended(node, builder, layer)


@operator("GlobalAveragePool", layers=(AveragePool,))
def global_average_pool(node: Node, builder: GraphBuilder) -> Tensor:
    """Add an `AveragePool` with the whole map as its window."""
    producer, in_shape = _unpadded_map(node, builder)
    window = Window(kernel=(in_shape.height, in_shape.width))
    return _appended(node, builder, _average_pool(node, builder.source(producer), in_shape, window))


@operator("GlobalMaxPool", layers=(MaxPool,))
def global_max_pool(node: Node, builder: GraphBuilder) -> Tensor:
    """Add a `MaxPool` with the whole map as its window."""
    producer, in_shape = _unpadded_map(node, builder)
    window = Window(kernel=(in_shape.height, in_shape.width))
    return _appended(node, builder, _max_pool(node, builder.source(producer), in_shape, window))


@operator("ReduceMean", attributes=REDUCTION_ATTRIBUTES, layers=(AveragePool,))
def reduce_mean(node: Node, builder: GraphBuilder) -> Tensor:
    """Average over axes: `GlobalAveragePool` of a map whose channels are the axes that stay."""
    return _reduced(node, builder, global_average_pool)


@operator("ReduceMax", attributes=REDUCTION_ATTRIBUTES, layers=(MaxPool,))
def reduce_max(node: Node, builder: GraphBuilder) -> Tensor:
    """Maximum over axes: `GlobalMaxPool` of a map whose channels are the axes that stay."""
    return _reduced(node, builder, global_max_pool)


@operator("ReduceSum", attributes=REDUCTION_ATTRIBUTES, layers=(DepthwiseConv,))
def reduce_sum(node: Node, builder: GraphBuilder) -> Tensor:
    """Sum over axes: a `DepthwiseConv` with weights of 1 over a map whose channels are the axes that stay."""
    return _reduced(node, builder, _global_sum)


def _global_sum(node: Node, builder: GraphBuilder) -> Tensor:
    producer, in_shape = _unpadded_map(node, builder)
    layer = DepthwiseConv(
        name=node.name,
        inputs=(builder.source(producer),),
        output=node.output,
        in_shape=in_shape,
        weights=np.ones(in_shape, np.float32),
        bias=np.zeros(in_shape.channels, np.float32),
        window=Window(kernel=(in_shape.height, in_shape.width)),
    )
    return _appended(node, builder, layer)


def _reduced(node: Node, builder: GraphBuilder, pool: Callable[[Node, GraphBuilder], Tensor]) -> Tensor:
    """Pool over the reduced axes as one, or as height and width where they are these."""
    layout, rank = node.tensor.layout, node.rank
    named = node.axes() or (() if node.attributes.get("noop_with_empty_axes", 0) else range(rank))
    reduced = sorted({normalize_axis_index(axis, rank) for axis in named})
    if not reduced:
        return node.tensor
    kept = [axis for axis in range(rank) if axis not in reduced]
    spatial = [layout.shape[axis] for axis in reduced] if rank in MAP_RANKS and len(reduced) == rank - 2 else [-1]
    as_map = layout.transpose((*kept, *reduced)).reshape((1, prod(layout.shape[axis] for axis in kept), *spatial))
    tensor = pool(node.reading(as_map), builder)
    keeps = node.attributes.get("keepdims", 1)
    sizes = [1 if axis in reduced else layout.shape[axis] for axis in range(rank) if keeps or axis in kept]
    return replace(tensor, layout=tensor.layout.reshape(sizes))


def _unpadded_map(node: Node, builder: GraphBuilder) -> tuple[Producer, Shape]:
    producer, in_shape, _ = builder.as_map(node)
    return producer, in_shape


def _appended(node: Node, builder: GraphBuilder, layer: Layer) -> Tensor:
    return Tensor(Layout.of_map(layer.out_shape, node.rank - 2), producer=builder.append(layer))


def _max_pool(node: Node, source: str, in_shape: Shape, window: Window) -> MaxPool:
    return MaxPool(name=node.name, inputs=(source,), output=node.output, in_shape=in_shape, window=window)


def _average_pool(node: Node, source: str, in_shape: Shape, window: Window, *, counts: bool = False) -> AveragePool:
    return AveragePool(
        name=node.name,
        inputs=(source,),
        output=node.output,
        in_shape=in_shape,
        window=window,
        count_include_pad=counts,
    )


def _flooring_window(node: Node, in_shape: Shape, padded: Pads) -> Window:
    window = window_of(node, in_shape, padded, node.pair("kernel_shape", 1))
    if node.attributes.get("auto_pad", b"NOTSET").startswith(b"SAME") and reach(window) != window.kernel:
        raise node.error(SAME_AND_DILATIONS)
    return window


def _has_empty_windows(window: Window, in_shape: Shape) -> bool:
    """Return whether there is a window over padding alone."""
    return not all(covered.all() for covered in window.covered(in_shape))


def _check_windows(node: Node, window: Window, in_shape: Shape) -> None:
    if _has_empty_windows(window, in_shape):
        raise node.error(PADDING_ALONE, tuple(window.pads))


def _pool_window(node: Node, in_shape: Shape, padded: Pads) -> Window:
    """Return the window, for ceil_mode with as much more padding at the end as the last window needs.

    A last window that would begin after the map, with a Pad before the node, is left out (ONNX operators, MaxPool).
    """
    window = _flooring_window(node, in_shape, padded)
    if not node.attributes.get("ceil_mode", 0):
        return fitting(node, window, in_shape)
    more = []
    for size, begin, end, before, extent, stride in zip(
        in_shape[:2], window.pads[:2], window.pads[2:], padded[2:], reach(window), window.stride, strict=True
    ):
        windows = -(-(begin + size + end - extent) // stride) + 1
        if (windows - 1) * stride >= begin + size + before:
            windows -= 1
        more.append(max((windows - 1) * stride + extent - (begin + size + end), 0))
    pads = window.pads
    extended = replace(window, pads=pads._replace(bottom=pads.bottom + more[0], right=pads.right + more[1]))
    return fitting(node, extended, in_shape)
