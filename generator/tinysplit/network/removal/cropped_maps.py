"""Maps without the last rows and columns that nobody reads: pools and strides that do not divide a map leave them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tinysplit.network.graph import NETWORK_INPUT, Graph
from tinysplit.network.layers.base import Layer, Shape
from tinysplit.network.layers.concat import Concat
from tinysplit.network.layers.conv import Conv
from tinysplit.network.layers.depthwise_conv import DepthwiseConv
from tinysplit.network.layers.joining import Elementwise
from tinysplit.network.layers.lookup import Lookup
from tinysplit.network.layers.pool import Pool
from tinysplit.network.layers.window import layer_window

Size = tuple[int, int]  # rows and columns, from the first ones on


def cropped(graph: Graph) -> Graph:
    """Return a network whose layers compute only the rows and columns that its output depends on.

    Its input stays as it is: where windows do not reach the end of a map, their padding there is below 0.
    """
    needed = _needed_sizes(graph)
    return replace(graph, layers=tuple(_cropped(graph, number, needed) for number in range(len(graph.layers))))


def _needed_sizes(graph: Graph) -> Mapping[int, Size]:
    """Return the rows and columns of each tensor that the network's output depends on.

    Layers without a window have inputs of the size of their output, so that one may need more because of others.
    """
    needed = {NETWORK_INPUT: graph.in_shape[:2], len(graph.layers) - 1: graph.out_shape[:2]}
    before: dict[int, Size] = {}
    while needed != before:
        before = {**needed}
        for number in reversed(range(len(graph.layers))):
            _add_needed(graph, number, needed)
    return needed


def _add_needed(graph: Graph, number: int, needed: dict[int, Size]) -> None:
    """Add what a layer needs of its inputs, and what it computes."""
    layer, sources = graph.layers[number], graph.predecessors[number]
    if not _has_pixels(graph, number):
        needed.update({each: graph.shape(each)[:2] for each in (number, *sources)})
        return
    size = needed.get(number, layer.out_shape[:2])
    if window := layer_window(layer):
        read = [min(window.under(range(size[axis]), axis).stop, layer.in_shape[axis]) for axis in (0, 1)]
        needed[number], needed[sources[0]] = size, _larger(needed.get(sources[0], (0, 0)), (read[0], read[1]))
        return
    for each in sources:
        size = _larger(size, needed.get(each, (0, 0)))
    needed.update(dict.fromkeys((number, *sources), size))


def _larger(size: Size, other: Size) -> Size:
    return max(size[0], other[0]), max(size[1], other[1])


def _has_pixels(graph: Graph, number: int) -> bool:
    """Return whether a layer can compute some pixels of its output alone, from pixels of its inputs."""
    layer = graph.layers[number]
    if [*layer.in_shapes] != [graph.shape(source) for source in graph.predecessors[number]]:
        return False
    if isinstance(layer, Conv | DepthwiseConv | Pool):
        return True
    is_equal = all(shape[:2] == layer.out_shape[:2] for shape in layer.in_shapes)
    return is_equal and isinstance(layer, Elementwise | Concat | Lookup)


def _cropped(graph: Graph, number: int, needed: Mapping[int, Size]) -> Layer:
    layer, size = graph.layers[number], needed[number]
    if not _has_pixels(graph, number):
        return layer
    shapes = [
        Shape(*needed[source], shape.channels)
        for shape, source in zip(layer.in_shapes, graph.predecessors[number], strict=True)
    ]
    if [*layer.in_shapes] == shapes and layer.out_shape[:2] == size:
        return layer
    changed: dict[str, Any] = {}
    if window := layer_window(layer):
        bottom, right = (window.under(range(size[axis]), axis).stop - shapes[0][axis] for axis in (0, 1))
        changed["window"] = replace(window, pads=window.pads._replace(bottom=bottom, right=right))
    return replace(layer.with_in_shapes(shapes), **changed)
