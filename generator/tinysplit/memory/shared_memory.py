"""Tensors that lie in the memory of others: the inputs of joins in their outputs, slices in their inputs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from tinysplit.common.alignment import WORD_BYTES
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.distribution import Part
from tinysplit.network.graph import NETWORK_INPUT, Graph
from tinysplit.network.layers.distributed.views import RowJoin, RowSlice


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


def unaligned_rows(graph: Graph, widths: BitWidths) -> Iterator[str]:
    """Yield, a line each, rows of a distributed network that begin within a word of the memory in which they lie.

    Kernels load and store words. Links move bytes, and views nothing: rows that no kernel uses may begin anywhere.
    """
    for board in sorted(set(graph.boards)):
        own = [number for number, other in enumerate(graph.boards) if other == board]
        for tensor, place in shared_memory(graph, widths, own).items():
            if place.offset_bytes % WORD_BYTES and _has_kernels(graph, tensor, own):
                part = graph.parts[tensor]
                rows = f"rows {part.range.start + 1}-{part.range.stop}"
                yield (
                    f"{_origin(graph, part)}: {rows} on board {board + 1} begin at byte {place.offset_bytes} of the"
                    f" rows there, which is no multiple of {WORD_BYTES}"
                )


def _has_kernels(graph: Graph, tensor: int, own: Sequence[int]) -> bool:
    """Return whether a kernel among the layers of a board writes or reads a tensor."""
    return any(
        not graph.layers[number].is_view and (number == tensor or tensor in graph.predecessors[number])
        for number in own
    )


def _origin(graph: Graph, part: Part) -> str:
    """Return the name of the whole tensor."""
    if part.tensor == NETWORK_INPUT:
        return f"input {graph.input_name!r}"
    layers = zip(graph.layers, graph.parts, strict=True)
    name = next(layer.name for layer, other in layers if other.tensor == part.tensor and not layer.is_view)
    return f"layer {name!r}"


def _outermost(places: Mapping[int, Place], place: Place) -> Place:
    while place.tensor in places:
        holder = places[place.tensor]
        place = Place(holder.tensor, place.offset_bytes + holder.offset_bytes)
    return place
