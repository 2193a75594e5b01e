"""Distributions: which board has which rows or which channels of a tensor."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate, pairwise
from typing import NamedTuple, Self

from tinysplit.network.layers.base import Shape


class SliceAxis(StrEnum):
    """What a tensor is divided by: a range of rows is a tile, a range of channels a slice."""

    ROWS = "rows"
    CHANNELS = "channels"

    def size(self, shape: Shape) -> int:
        """Return the rows or channels of a tensor."""
        return shape.height if self is SliceAxis.ROWS else shape.channels


class Part(NamedTuple):
    """Rows or channels of the output of layer `tensor` of the whole network, or of NETWORK_INPUT, on a board from 0."""

    tensor: int
    board: int
    axis: SliceAxis
    range: range


@dataclass(frozen=True)
class Distribution:
    """The part of a tensor that each board computes, by its 0-based index; most often some boards have none.

    A tensor that one board has as a whole is divided by rows, all of which are that board's.
    """

    axis: SliceAxis
    parts: tuple[range, ...]

    @classmethod
    def whole(cls, shape: Shape, board: int, n_boards: int) -> Self:
        """Return the distribution of a tensor that one board has as a whole."""
        return cls(SliceAxis.ROWS, tuple(range(shape.height if index == board else 0) for index in range(n_boards)))

    @classmethod
    def of_sizes(cls, axis: SliceAxis, sizes: Sequence[int]) -> Self:
        """Return the distribution in which each board, in their order, has so many rows or channels."""
        ends = accumulate(sizes, initial=0)
        return cls(axis, tuple(range(start, end) for start, end in pairwise(ends)))

    @property
    def owners(self) -> tuple[int, ...]:
        """The boards that have a part, in the order of the parts."""
        owners = (board for board, part in enumerate(self.parts) if part)
        return tuple(sorted(owners, key=lambda board: self.parts[board].start))

    @property
    def is_whole(self) -> bool:
        """Whether one board has all."""
        return len(self.owners) == 1

    def overlaps(self, wanted: range) -> Iterator[tuple[int, range]]:
        """Yield the boards that have some of `wanted`, in the order of the parts, and what they have of it."""
        for board in self.owners:
            owned = self.parts[board]
            shared = range(max(owned.start, wanted.start), min(owned.stop, wanted.stop))
            if shared:
                yield board, shared

    def covers(self, shape: Shape) -> bool:
        """Return whether the parts are all of a tensor, each element once."""
        ends = [0, *(self.parts[board].stop for board in self.owners)]
        starts = [self.parts[board].start for board in self.owners]
        return starts == ends[:-1] and ends[-1] == self.axis.size(shape)


@dataclass(frozen=True)
class Distributions:
    """How a network is distributed: the distribution of each layer's output.

    The network's input is at `input_board`, its output is wanted at `output_board`, both from 0. Of the layers `edges`,
    boards compute the rows apart that others wait for, or that wait for others, so that transfers have time.
    """

    layers: tuple[Distribution, ...]
    input_board: int
    output_board: int
    edges: frozenset[int] = frozenset()
