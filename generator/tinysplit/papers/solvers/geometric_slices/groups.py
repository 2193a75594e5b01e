"""Which layers a geometric program divides: those of one distribution have one vector of shares."""

from collections.abc import Iterator
from dataclasses import dataclass

from typing_extensions import override

from tinysplit.network.distribution import SliceAxis
from tinysplit.network.graph import Graph
from tinysplit.network.layers.joining import Elementwise
from tinysplit.network.parts import hull, reads_whole_input
from tinysplit.slices.options import OptionSet


@dataclass(frozen=True)
class Group:
    """Layers whose outputs have one distribution: the rows or channels in `wanted` are shared out `unit` at a time."""

    layers: tuple[int, ...]
    wanted: range
    unit: int

    @property
    def size(self) -> int:
        """Number of units."""
        return len(self.wanted) // self.unit

    def joined(self, other: "Group") -> "Group":
        """Return the group of the layers of both."""
        return Group(
            tuple(sorted({*self.layers, *other.layers})), hull(self.wanted, other.wanted), min(self.unit, other.unit)
        )

    @override
    def __str__(self) -> str:
        numbers = ", ".join(str(number + 1) for number in self.layers)
        return f"layer{'s' * (len(self.layers) > 1)} {numbers}"


def groups_of(options: OptionSet, axis: SliceAxis, n_layers: int) -> tuple[Group, ...]:
    """Return those of the first `n_layers` layers that are divided by an axis; all others stay whole.

    A layer is divided if it can be, if there is a row or channel for each board, and, where it needs the distribution
    of its sources, if these are divided, too.
    """
    group_of: dict[int, Group] = {}
    for number in range(n_layers):
        tied = _tied(options.graph, number, axis)
        group = _alone(options, axis, number)
        if options.can_be_divided(number, axis) and group.size and all(source in group_of for source in tied):
            for source in tied:
                group = group.joined(group_of[source])
            group_of.update(dict.fromkeys(group.layers, group))
    return tuple(dict.fromkeys(group_of.values()))


def _alone(options: OptionSet, axis: SliceAxis, number: int) -> Group:
    """Return the group of one layer; its size is 0 if there is not a row or channel for each board.

    Channels that fill whole words have the fast kernels.
    """
    n_boards = len(options.order)
    if axis is SliceAxis.ROWS:
        wanted, unit = options.needed[number], 1
    else:
        wanted = range(options.graph.shape(number).channels)
        unit = options.word_elements[number]
        if len(wanted) % unit or len(wanted) < unit * n_boards:
            unit = 1
    return Group((number,), wanted if len(wanted) >= n_boards else range(0), unit)


def _tied(graph: Graph, number: int, axis: SliceAxis) -> tuple[int, ...]:
    """Return the sources whose distribution a layer needs for its own."""
    layer, sources = graph.layers[number], graph.predecessors[number]
    if axis is SliceAxis.CHANNELS:
        return () if reads_whole_input(layer) else sources
    return sources if isinstance(layer, Elementwise) else ()


def readers_of(graph: Graph, number: int) -> Iterator[tuple[int, int]]:
    """Yield the layers that read the output of a layer, and by which of their inputs."""
    for reader, sources in enumerate(graph.predecessors):
        yield from ((reader, k) for k, source in enumerate(sources) if source == number)
