"""Layers divided over boards as the split file has them: layers, boards, rows and channels count from 1."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from tinysplit.common.file_schema import FileModel
from tinysplit.network.distribution import Distribution, Distributions, SliceAxis

Number = Annotated[int, Field(ge=1)]


class SplitPart(FileModel):
    """Rows or channels `first` to `last`, from 1, of a layer's output on a board."""

    board: Number
    first: Number
    last: Number

    @model_validator(mode="after")
    def _has_an_order(self) -> Self:
        if self.last < self.first:
            raise ValueError(f"the part of board {self.board} ends at {self.last}, before it begins at {self.first}")
        return self


class SplitDistribution(FileModel):
    """The parts of a layer's output, in their order; one part is the whole output."""

    axis: SliceAxis
    parts: tuple[SplitPart, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _has_each_board_once(self) -> Self:
        boards = [part.board for part in self.parts]
        twice = next((board for board in boards if boards.count(board) > 1), None)
        if twice:
            raise ValueError(f"board {twice} has two parts of one layer")
        return self

    @classmethod
    def of(cls, divided: Distribution) -> Self:
        """Return a distribution as the file has it."""
        parts = ((board, divided.parts[board]) for board in divided.owners)
        return cls(
            axis=divided.axis,
            parts=tuple(SplitPart(board=board + 1, first=part.start + 1, last=part.stop) for board, part in parts),
        )

    def distribution(self, n_boards: int) -> Distribution:
        """Return the distribution."""
        parts = {part.board - 1: range(part.first - 1, part.last) for part in self.parts}
        return Distribution(self.axis, tuple(parts.get(board, range(0)) for board in range(n_boards)))


class SplitSlices(FileModel):
    """How layers are divided over boards: one distribution a layer.

    Of the layers `edges`, the boards compute the rows apart that others wait for, or that wait for others.
    """

    input_board: Number
    output_board: Number
    layers: tuple[SplitDistribution, ...]
    edges: tuple[Number, ...]

    @classmethod
    def of(cls, how: Distributions) -> Self:
        """Return distributions as the file has them."""
        return cls(
            input_board=how.input_board + 1,
            output_board=how.output_board + 1,
            layers=tuple(map(SplitDistribution.of, how.layers)),
            edges=tuple(sorted(number + 1 for number in how.edges)),
        )

    @property
    def boards(self) -> frozenset[int]:
        """The numbers of all boards that are named."""
        parts = (part.board for layer in self.layers for part in layer.parts)
        return frozenset({self.input_board, self.output_board, *parts})

    def distributions(self, n_boards: int) -> Distributions:
        """Return the distributions."""
        layers = tuple(layer.distribution(n_boards) for layer in self.layers)
        edges = frozenset(number - 1 for number in self.edges)
        return Distributions(layers, self.input_board - 1, self.output_board - 1, edges)
