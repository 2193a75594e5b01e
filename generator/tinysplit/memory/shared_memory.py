"""Tensors that lie in the memory of others: the inputs of joins in their outputs, slices in their inputs."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from tinysplit.common.alignment import aligned
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.graph import Graph
from tinysplit.network.layers.views import RowJoin, RowSlice


class Place(NamedTuple):
    """Where a tensor begins: `offset_bytes` after the begin of another one (a layer's output, or NETWORK_INPUT)."""

    tensor: int
    offset_bytes: int


def shared_memory(graph: Graph, widths: BitWidths, layers: Iterable[int]) -> Mapping[int, Place]:
    """Return the place of each tensor that views among the `layers` of a board keep in the memory of another one."""
    places: dict[int, Place] = {}
    for number in layers:
        view, sources = graph.layers[number], graph.predecessors[number]
        if isinstance(view, RowSlice):
            row_bytes = widths.size_bytes(graph, number) // view.out_shape.height
            places[number] = Place(sources[0], view.first * row_bytes)
        elif isinstance(view, RowJoin):
            sizes = (widths.size_bytes(graph, source) for source in sources)
            for source, offset in zip(sources, accumulate(sizes, initial=0), strict=False):
                places[source] = Place(number, offset)
    return {tensor: _outermost(places, place) for tensor, place in places.items()}


def held_bytes(graph: Graph, widths: BitWidths, layers: Sequence[int]) -> Mapping[int, int]:
    """Return the bytes of all tensors in the RAM of a board while each of its `layers` runs; they run in this order.

    A tensor that lies in another one counts as part of it.
    """
    places, uses = shared_memory(graph, widths, layers), defaultdict[int, list[int]](list)
    for number in layers:
        for tensor in (number, *graph.predecessors[number]):
            uses[places[tensor].tensor if tensor in places else tensor].append(number)
    spans = [(min(used), max(used), aligned(widths.size_bytes(graph, tensor))) for tensor, used in uses.items()]
    return {number: sum(size for first, last, size in spans if first <= number <= last) for number in layers}


def _outermost(places: Mapping[int, Place], place: Place) -> Place:
    while place.tensor in places:
        holder = places[place.tensor]
        place = Place(holder.tensor, place.offset_bytes + holder.offset_bytes)
    return place
