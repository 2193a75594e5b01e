"""Distributions of a network: its first layers by rows or by channels over some boards, the others whole on one."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Self

from tinysplit.network.distribution import Distribution, Distributions, SliceAxis
from tinysplit.network.graph import NETWORK_INPUT, Graph
from tinysplit.network.layers.base import Shape
from tinysplit.network.layers.pool import Pool
from tinysplit.network.parts import can_be_sliced, has_rows, needed_rows, reads_whole_input


@dataclass(frozen=True)
class Candidate:
    """The first `n_divided` layers divided over boards by their `shares` of rows or channels, the others whole.

    `order` has the boards in the order of their parts; `output_board` has all other layers.
    """

    axis: SliceAxis
    n_divided: int
    order: tuple[int, ...]
    shares: tuple[float, ...]  # of the boards in `order`, with the sum 1
    input_board: int
    output_board: int
    edges: frozenset[int]

    def distributions(self, graph: Graph, n_boards: int) -> Distributions:
        """Return the distribution of each layer; layers that cannot be divided are whole."""
        found: list[Distribution] = []
        needed = needed_rows(graph)
        for number, layer in enumerate(graph.layers):
            source = graph.predecessors[number][0]
            before = None if source == NETWORK_INPUT else found[source]
            if number < self.n_divided and self._divides(graph, number, before):
                is_same = self.axis is SliceAxis.CHANNELS and not reads_whole_input(layer) and before
                found.append(before if is_same and before else self._divided(layer.out_shape, needed[number], n_boards))
            else:
                found.append(Distribution.whole(layer.out_shape, self.output_board, n_boards))
        return Distributions(tuple(found), self.input_board, self.output_board, self.edges)

    def _divides(self, graph: Graph, number: int, before: Distribution | None) -> bool:
        layer = graph.layers[number]
        if self.axis is SliceAxis.ROWS:
            return has_rows(graph, number) and layer.out_shape.height >= len(self.order)
        if not can_be_sliced(layer):
            return False
        return reads_whole_input(layer) or (before is not None and before.axis is SliceAxis.CHANNELS)

    def _divided(self, shape: Shape, needed: range, n_boards: int) -> Distribution:
        """Return the division of a tensor so that boards have their shares of what is needed of it."""
        size = self.axis.size(shape)
        wanted = needed if self.axis is SliceAxis.ROWS else range(size)
        inner = [wanted.start + round(share * len(wanted)) for share in accumulate(self.shares[:-1])]
        parts = dict(zip(self.order, (range(*each) for each in pairwise((0, *inner, size))), strict=True))
        return Distribution(self.axis, tuple(parts.get(board, range(0)) for board in range(n_boards)))

    def moved(self, giver: int, taker: int, share: float) -> Self:
        """Return the candidate in which one board in the order gives a share to another one."""
        shares = list(self.shares)
        shares[giver] -= share
        shares[taker] += share
        return replace(self, shares=tuple(shares))


def ends_of_tiles(graph: Graph, n_parts: int) -> Iterator[int]:
    """Yield the numbers of first layers that may be divided by rows over so many boards, most of them first.

    They end before a layer without rows and before a smaller map, or with the network.
    """
    layers = graph.layers
    divisible = [has_rows(graph, number) and layer.out_shape.height >= n_parts for number, layer in enumerate(layers)]
    longest = next((number for number, can in enumerate(divisible) if not can), len(layers))
    if longest:
        yield longest
    for number in range(longest - 1, 0, -1):
        is_smaller = layers[number].out_shape.height < layers[number - 1].out_shape.height
        if is_smaller or isinstance(layers[number], Pool):
            yield number
