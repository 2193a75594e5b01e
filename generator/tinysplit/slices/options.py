"""The distributions of each tensor among which the exact search chooses: a stated, finite set.

All on one board, or, over each set of several boards in the order in which they are wired, rows or channels by their
speeds, in every way of rounding that is within one row or channel of it (`MOST_ROUNDINGS` of them at most). The costs
of two tensors together are tables of (options x boards)^2 numbers, so that more than `FEW_BOARDS` boards have sets of
neighbours only, and `MOST_OF_MANY` in all for an axis: one of each set, most boards first, before a second one.

Around a known division there are others: all on one board, or with one border between two parts moved by some rows or
channels.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, combinations, islice, pairwise, zip_longest

import numpy as np

from tinysplit.network.distribution import Distribution, SliceAxis
from tinysplit.network.graph import Graph
from tinysplit.network.layers.base import Shape
from tinysplit.network.parts import can_be_sliced, has_rows, rows_read
from tinysplit.slices.exact.problem import Flags, Integers

MOST_ROUNDINGS = 6
MOVES = (-8, -4, -2, -1, 1, 2, 4, 8)  # of a border, in rows or channels
FEW_BOARDS = 4
MOST_OF_MANY = 16


@dataclass(frozen=True)
class Options:
    """The distributions of one tensor; of its rows, those in `needed` are computed."""

    shape: Shape
    distributions: tuple[Distribution, ...]
    needed: range

    def __len__(self) -> int:
        return len(self.distributions)

    def taken(self, indices: Sequence[int]) -> "Options":
        """Return some of the options."""
        return replace(self, distributions=tuple(self.distributions[index] for index in indices))

    @cached_property
    def is_by_rows(self) -> Flags:
        """Whether each option is by rows, which a whole tensor is, too."""
        return np.array([each.axis is SliceAxis.ROWS for each in self.distributions])

    @cached_property
    def parts(self) -> tuple[tuple[range, ...], ...]:
        """The rows or channels that boards compute, by [option][board]."""
        return tuple(tuple(self._computed(each, part) for part in each.parts) for each in self.distributions)

    def _computed(self, distribution: Distribution, part: range) -> range:
        if distribution.axis is SliceAxis.CHANNELS:
            return part
        own = range(max(part.start, self.needed.start), min(part.stop, self.needed.stop))
        return own or range(0)

    @cached_property
    def starts(self) -> Integers:
        """First row or channel, by [option][board]."""
        return np.array([[part.start for part in parts] for parts in self.parts])

    @cached_property
    def stops(self) -> Integers:
        """Row or channel after the last one, by [option][board]."""
        return np.array([[part.stop for part in parts] for parts in self.parts])

    @property
    def sizes(self) -> Integers:
        """Rows or channels, by [option][board]."""
        return self.stops - self.starts

    @cached_property
    def positions(self) -> Integers:
        """Place of each board among the owners of the parts, by [option][board]; 0 without a part."""
        return np.array([[_position(each, board) for board in range(len(each.parts))] for each in self.distributions])


def _position(distribution: Distribution, board: int) -> int:
    return distribution.owners.index(board) if distribution.parts[board] else 0


@dataclass(frozen=True)
class OptionSet:
    """Which options tensors of `graph` have: boards in their order, their `speeds` by board, and what is divided."""

    graph: Graph
    order: tuple[int, ...]
    speeds: tuple[float, ...]
    axes: tuple[SliceAxis, ...]
    word_elements: Mapping[int, int]  # of each tensor: elements in 4 bytes, of which rows are multiples
    needed: Mapping[int, range]
    around: tuple[Distribution, ...] = ()

    def of(self, number: int) -> Options:
        """Return the options of a layer's output."""
        shape, n_boards = self.graph.shape(number), len(self.speeds)
        whole = [Distribution.whole(shape, board, n_boards) for board in self.order]
        if self.around:
            divided = self._moved(self.around[number], self.needed[number])
        else:
            axes = (axis for axis in self.axes if self.can_be_divided(number, axis))
            divided = chain.from_iterable(self._divided(number, axis) for axis in axes)
        return Options(shape, tuple(dict.fromkeys([*whole, *divided])), self.needed[number])

    def can_be_divided(self, number: int, axis: SliceAxis) -> bool:
        """Return whether a layer can be divided by an axis, whatever its inputs are divided by."""
        layer, shape = self.graph.layers[number], self.graph.shape(number)
        if axis is SliceAxis.CHANNELS:
            return can_be_sliced(layer)
        if not has_rows(self.graph, number) or shape.width * shape.channels % self.word_elements[number]:
            return False
        rows = (range(row, row + 1) for row in range(shape.height))
        return all(rows_read(layer, k, row) is not None for row in rows for k in range(len(layer.in_shapes)))

    def _divided(self, number: int, axis: SliceAxis) -> Iterator[Distribution]:
        shape = self.graph.shape(number)
        wanted = self.needed[number] if axis is SliceAxis.ROWS else range(shape.channels)

        def over(boards: Sequence[int]) -> Iterator[Distribution]:
            for sizes in islice(roundings([self.speeds[board] for board in boards], len(wanted)), MOST_ROUNDINGS):
                yield self._of_sizes(axis, boards, sizes, wanted, axis.size(shape))

        found = chain.from_iterable(zip_longest(*map(over, self._sets(len(wanted)))))
        return islice((each for each in found if each), None if len(self.order) <= FEW_BOARDS else MOST_OF_MANY)

    @staticmethod
    def _moved(known: Distribution, needed: range) -> Iterator[Distribution]:
        """Yield a distribution, and those in which one border between two parts is elsewhere; each part has some."""
        yield known
        owners, parts = known.owners, known.parts
        for before, after in pairwise(owners):
            first, second = parts[before], parts[after]
            limits = (first.start, second.stop)
            if known.axis is SliceAxis.ROWS:
                limits = (max(first.start, needed.start), min(second.stop, needed.stop))
            for step in MOVES:
                border = first.stop + step
                if limits[0] < border < limits[1]:
                    moved = {before: range(first.start, border), after: range(border, second.stop)}
                    yield replace(known, parts=tuple(moved.get(board, part) for board, part in enumerate(parts)))

    def _sets(self, size: int) -> Iterator[tuple[int, ...]]:
        """Yield sets of up to `size` boards, most boards first; of many boards only those that are wired in a row."""
        for n_parts in range(min(len(self.order), size), 1, -1):
            if len(self.order) <= FEW_BOARDS:
                yield from combinations(self.order, n_parts)
            else:
                yield from (self.order[first : first + n_parts] for first in range(len(self.order) - n_parts + 1))

    def _of_sizes(
        self, axis: SliceAxis, boards: Sequence[int], sizes: Sequence[int], wanted: range, size: int
    ) -> Distribution:
        """Return the distribution with so much of what is `wanted`; the first and last parts have the rest."""
        ends = [0, *(wanted.start + int(end) for end in np.cumsum(sizes[:-1])), size]
        parts = {board: range(ends[k], ends[k + 1]) for k, board in enumerate(boards)}
        return Distribution(axis, tuple(parts.get(board, range(0)) for board in range(len(self.speeds))))


def roundings(speeds: Sequence[float], total: int) -> Iterator[tuple[int, ...]]:
    """Yield whole sizes with sum `total` in proportion to `speeds`, none 0, those nearest to the proportion first.

    Each size is its quota rounded down, at least 1, and one more for as many as the sum lacks.
    """
    quotas = np.array(speeds) / sum(speeds) * total
    floors = np.maximum(np.floor(quotas + 1e-9).astype(int), 1)
    missing = total - int(floors.sum())
    if missing < 0:
        return
    parts = range(len(floors))
    ways = sorted(combinations(parts, missing), key=lambda more: -sum(quotas[part] - floors[part] for part in more))
    for more in ways:
        yield tuple(int(floors[part]) + (part in more) for part in parts)
