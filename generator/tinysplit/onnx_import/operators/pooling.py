"""Pooling over windows or the whole map, and reductions over the spatial axes."""

from collections.abc import Callable
from dataclasses import replace
from math import prod

from tinysplit.network.layers import AveragePool, Layer, MaxPool, Pads, Shape, Window
from tinysplit.network.layers.pad import MINUS_INFINITY
from tinysplit.onnx_import.graph_builder import GraphBuilder
from tinysplit.onnx_import.layout import Layout
from tinysplit.onnx_import.node import Node, Tensor
from tinysplit.onnx_import.operators.window import MAP_RANKS, reach, window_of


def max_pool(node: Node, builder: GraphBuilder) -> Tensor:
    """Add a `MaxPool`; a Pad in front may hold -infinity, or 0 where the values are never negative."""
    producer, in_shape, padded = builder.as_map(node)
    value = node.tensor.layout.pad_value
    never_wins = value <= MINUS_INFINITY or (value == 0 and producer is not None and producer.activation.low >= 0)
    if any(padded) and not never_wins:
        node = replace(node, operands=(builder.padded(node, node.tensor),))
        producer, in_shape, padded = builder.as_map(node)
    return _appended(
        node, builder, _max_pool(node, builder.source(producer), in_shape, _pool_window(node, in_shape, padded))
    )


def average_pool(node: Node, builder: GraphBuilder) -> Tensor:
    """Add an `AveragePool`; a Pad with 0 in front counts in the divisor.

    Raises InputError where only some of the padding counts.
    """
    producer, in_shape, padded = builder.as_map(node)
    counts = bool(node.attributes.get("count_include_pad", 0))
    window, flooring = _pool_window(node, in_shape, padded), _flooring_window(node, in_shape, padded)
    if any(padded) and not counts and flooring.pads != padded:
        raise node.error(
            "follows a Pad and has pads of its own that do not count: merge them, or set count_include_pad"
        )
    counts = counts or any(padded)
    if counts and window != flooring:
        raise node.error("has ceil_mode with counted padding, and its last window passes the edge: not supported")
    return _appended(node, builder, _average_pool(node, builder.source(producer), in_shape, window, counts=counts))


def global_average_pool(node: Node, builder: GraphBuilder) -> Tensor:
    """Add an `AveragePool` with the whole map as its window."""
    producer, in_shape = _unpadded_map(node, builder)
    window = Window(kernel=(in_shape.height, in_shape.width))
    return _appended(node, builder, _average_pool(node, builder.source(producer), in_shape, window))


def global_max_pool(node: Node, builder: GraphBuilder) -> Tensor:
    """Add a `MaxPool` with the whole map as its window."""
    producer, in_shape = _unpadded_map(node, builder)
    window = Window(kernel=(in_shape.height, in_shape.width))
    return _appended(node, builder, _max_pool(node, builder.source(producer), in_shape, window))


def reduce_mean(node: Node, builder: GraphBuilder) -> Tensor:
    """Average over axes: `GlobalAveragePool` of a map whose channels are the axes that stay."""
    return _reduced(node, builder, global_average_pool)


def reduce_max(node: Node, builder: GraphBuilder) -> Tensor:
    """Maximum over axes: `GlobalMaxPool` of a map whose channels are the axes that stay."""
    return _reduced(node, builder, global_max_pool)


def _reduced(node: Node, builder: GraphBuilder, pool: Callable[[Node, GraphBuilder], Tensor]) -> Tensor:
    """Pool over the reduced axes as one, or as height and width where they are these."""
    layout, rank = node.tensor.layout, node.rank
    named = node.axes() or (() if node.attributes.get("noop_with_empty_axes", 0) else range(rank))
    reduced = sorted({axis % rank for axis in named})
    if not reduced:
        return node.tensor
    kept = [axis for axis in range(rank) if axis not in reduced]
    spatial = [layout.shape[axis] for axis in reduced] if rank in MAP_RANKS and len(reduced) == rank - 2 else [-1]
    as_map = layout.transpose((*kept, *reduced)).reshape((1, prod(layout.shape[axis] for axis in kept), *spatial))
    tensor = pool(node.reading(as_map), builder)
    keeps = node.attributes.get("keepdims", 1)
    sizes = [1 if axis in reduced else layout.shape[axis] for axis in range(rank) if keeps or axis in kept]
    return replace(tensor, layout=tensor.layout.reshape(sizes))


def _unpadded_map(node: Node, builder: GraphBuilder) -> tuple[Layer | None, Shape]:
    producer, in_shape, _ = builder.as_map(node)
    return producer, in_shape


def _appended(node: Node, builder: GraphBuilder, layer: Layer) -> Tensor:
    return Tensor(Layout.of_map(layer.out_shape, node.rank - 2), builder.append(layer))


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
    pads = window.pads
    if any(pad >= extent for pad, extent in zip(pads, reach(window) * 2, strict=True)):
        raise node.error(f"has padding {tuple(pads)} as large as its window: a window of padding alone has no value")
    return window


def _pool_window(node: Node, in_shape: Shape, padded: Pads) -> Window:
    """Return the window, for ceil_mode with as much more padding at the end as the last window needs.

    A last window that would begin after the map and the padding in front of it is left out (ONNX operators, MaxPool).
    """
    window = _flooring_window(node, in_shape, padded)
    if not node.attributes.get("ceil_mode", 0):
        return window
    more = []
    for size, begin, end, extent, stride in zip(
        in_shape[:2], window.pads[:2], window.pads[2:], reach(window), window.stride, strict=True
    ):
        windows = -(-(begin + size + end - extent) // stride) + 1
        if (windows - 1) * stride >= begin + size:
            windows -= 1
        more.append(max((windows - 1) * stride + extent - (begin + size + end), 0))
    pads = window.pads
    return replace(window, pads=pads._replace(bottom=pads.bottom + more[0], right=pads.right + more[1]))
