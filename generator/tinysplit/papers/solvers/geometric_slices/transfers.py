"""What parts of layers receive and send, by their size: the inputs and outputs of a geometric program.

Arrays of bytes and seconds by [size of the part][sender][receiver].
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tinysplit.network.distribution import SliceAxis
from tinysplit.network.graph import NETWORK_INPUT, Graph
from tinysplit.network.layers.distributed.partial_sum import SUM_BITS, can_sum_rows
from tinysplit.network.parts import reads_whole_input, rows_of_source
from tinysplit.papers.solvers.geometric_slices.groups import Group, readers_of
from tinysplit.slices.distribution_problem import DistributionModel
from tinysplit.slices.exact.problem import Floats, Integers


@dataclass(frozen=True, eq=False)
class PartTransfers:
    """Transfers of the parts of `groups`; all other layers are whole on the output's board."""

    model: DistributionModel
    axis: SliceAxis
    groups: tuple[Group, ...]

    @property
    def _graph(self) -> Graph:
        return self.model.costs.graph

    def inputs(self, number: int, board: int, sizes: Sequence[int]) -> Integers:
        """Return the bytes that a part of a layer needs of tensors that are whole on one board."""
        n_bytes = self._nothing(sizes)
        for k, source in enumerate(self._graph.predecessors[number]):
            home = self.model.input_board if source == NETWORK_INPUT else self.model.output_board
            if self._group_of(source) is None and home != board:
                rows = [self._rows_needed(number, k, size) for size in sizes]
                n_bytes[:, home, board] += np.array(rows) * self._row_bytes(source)
        return n_bytes

    def outputs(self, number: int, board: int, sizes: Sequence[int]) -> Integers:
        """Return the bytes that a part of a layer sends to other boards, to each the most that a reader needs.

        A tile sends each neighbour half of the rows that both read; a slice goes to all boards where a layer reads all
        of it.
        """
        n_bytes, parts = self._nothing(sizes), np.array(sizes)
        home = self.model.output_board
        unit = self._unit_bytes(number)
        readers = list(readers_of(self._graph, number))
        for reader, k in readers:
            if self._group_of(reader) is None:
                summed = self._sum_bytes(reader) if self.axis is SliceAxis.ROWS else 0
                needed = {home: np.full(len(parts), summed) if summed else parts * unit}
            elif self.axis is SliceAxis.ROWS:
                halo = np.minimum((self._shared_rows(reader, k) + 1) // 2, parts) * unit
                needed = dict.fromkeys(self._neighbours(board), halo)
            else:
                reads_all = reads_whole_input(self._graph.layers[reader])
                needed = dict.fromkeys(self.model.option_set.order, parts * unit * reads_all)
            for other, needed_bytes in needed.items():
                n_bytes[:, board, other] = np.maximum(n_bytes[:, board, other], needed_bytes)
        if not readers:
            n_bytes[:, board, home] = parts * unit
        n_bytes[:, board, board] = 0
        return n_bytes

    def seconds(self, n_bytes: Integers) -> Floats:
        """Return the seconds until each tensor has arrived, with what it takes of the sender's CPU."""
        costs = self.model.links.of(n_bytes)
        return np.where(n_bytes > 0, costs.arrival_s + costs.sending_s[..., None], 0.0)

    def _nothing(self, sizes: Sequence[int]) -> Integers:
        n_boards = len(self.model.costs.boards)
        return np.zeros((len(sizes), n_boards, n_boards), np.intp)

    def _group_of(self, number: int) -> Group | None:
        return next((group for group in self.groups if number in group.layers), None)

    def _neighbours(self, board: int) -> list[int]:
        order = self.model.option_set.order
        place = order.index(board)
        return [order[other] for other in (place - 1, place + 1) if 0 <= other < len(order)]

    def _rows_needed(self, number: int, k: int, size: int) -> int:
        """Return the rows that a part of `size` rows or channels in the middle needs of input k: a slice needs all."""
        height = self._graph.shape(number).height
        start = (height - size) // 2
        rows = range(start, start + size) if self.axis is SliceAxis.ROWS else range(height)
        return len(rows_of_source(self._graph, number, k, rows))

    def min_rows(self, group: Group) -> int:
        """Return the rows of a tile so that it has those that layers of its neighbours read beyond their own."""
        readers = (each for number in group.layers for each in readers_of(self._graph, number))
        return max((self._shared_rows(*each) for each in readers if self._group_of(each[0])), default=0)

    def _shared_rows(self, number: int, k: int) -> int:
        """Return the rows of input k that two output rows next to each other both read."""
        middle = self._graph.shape(number).height // 2
        upper, lower = (rows_of_source(self._graph, number, k, range(row, row + 1)) for row in (middle - 1, middle))
        return len(range(lower.start, upper.stop))

    def _sum_bytes(self, reader: int) -> int:
        """Return the bytes of the sums of a tile that a whole layer averages, 0 if it needs the tile itself."""
        layer = self._graph.layers[reader]
        is_summed = can_sum_rows(layer, self.model.costs.widths.of_layer(layer).x)
        return layer.in_shape.channels * SUM_BITS // 8 if is_summed else 0

    def _row_bytes(self, tensor: int) -> int:
        return self.model.costs.widths.size_bytes(self._graph, tensor) // self._graph.shape(tensor).height

    def _unit_bytes(self, tensor: int) -> int:
        """Return the bytes of a row or a channel."""
        return self.model.costs.widths.size_bytes(self._graph, tensor) // self.axis.size(self._graph.shape(tensor))
