"""A network on boards as a problem of geometric programming, and its solution as distributions.

Layers of one distribution are one layer of the program (`groups.py`), with the sum of the models of their parts. In ms,
mJ and bytes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tinysplit.common.errors import CheckFailedError
from tinysplit.common.units import MS
from tinysplit.costs.problem_builder import free_memory
from tinysplit.network.distribution import Distribution, SliceAxis
from tinysplit.network.graph import Graph
from tinysplit.papers.solvers.geometric.posynomial import ZERO, Posynomial
from tinysplit.papers.solvers.geometric.problem import (
    DividedLayer,
    DivisionCosts,
    DivisionDevice,
    DivisionProblem,
    PartModel,
)
from tinysplit.papers.solvers.geometric.rounding import Channels
from tinysplit.papers.solvers.geometric_slices.groups import Group
from tinysplit.papers.solvers.geometric_slices.part_models import PartModels
from tinysplit.papers.solvers.geometric_slices.transfers import PartTransfers
from tinysplit.slices.distribution_problem import DistributionModel, most_flash_bytes
from tinysplit.slices.part_costs import PartCost
from tinysplit.split.problem import DeviceLimits, Objective

FLASH = "flash"
EQUAL_PARTS = 0.95  # of them is the largest lower bound, so that programs have an inside


@dataclass(frozen=True, eq=False)
class NetworkDivision:
    """The layers of `groups` divided by an axis over all boards in order, the others whole on the output's board."""

    model: DistributionModel
    axis: SliceAxis
    groups: tuple[Group, ...]

    @cached_property
    def models(self) -> PartModels:
        """The models of parts."""
        return PartModels(PartTransfers(self.model, self.axis, self.groups))

    @cached_property
    def problem(self) -> DivisionProblem:
        """The problem: a layer a group, a device a board, side by side, with the way back of outputs.

        Raises CheckFailedError if the output's board has no flash for the layers that stay whole.
        """
        costs = self.model.costs
        boards = range(len(costs.boards))
        layers = (
            DividedLayer(
                str(group), group.size, tuple(self._part(group, board) for board in boards), self._min_size(group)
            )
            for group in self.groups
        )
        return DivisionProblem(
            devices=tuple(DivisionDevice(f"board {board + 1}", self._limits(board)) for board in boards),
            layers=tuple(layers),
            objective=costs.settings.objective,
            side_by_side=True,
            counts_outputs=True,
            same_shares=tuple(self._same_shares()),
        )

    def _min_size(self, group: Group) -> float:
        """Return the least units of each part, for halos, if there is room for them."""
        room = EQUAL_PARTS * group.size / len(self.model.costs.boards)
        return min(float(self.models.transfers.min_rows(group)), room) if self.axis is SliceAxis.ROWS else 0.0

    def _same_shares(self) -> Iterator[tuple[int, int]]:
        """Yield a group and the first one that it reads rows of: only halos travel between tiles of the same shares."""
        if self.axis is SliceAxis.CHANNELS:
            return
        numbers = {layer: number for number, group in enumerate(self.groups) for layer in group.layers}
        for number, group in enumerate(self.groups):
            sources = self._graph.predecessors[group.layers[0]]
            yield from ((numbers[source], number) for source in sources[:1] if source in numbers)

    def distributions(self, parts: Channels) -> tuple[Distribution, ...]:
        """Return the distribution of each layer; `parts` are the units of each group by board."""
        n_boards = len(self.model.costs.boards)
        home = self.model.output_board
        layers = [Distribution.whole(layer.out_shape, home, n_boards) for layer in self._graph.layers]
        for group, sizes in zip(self.groups, parts, strict=True):
            for number in group.layers:
                layers[number] = self._distribution(group, sizes, self.axis.size(self._graph.shape(number)))
        return tuple(layers)

    def _distribution(self, group: Group, sizes: Sequence[int], size: int) -> Distribution:
        """Return a distribution by units of what is wanted; the first and the last part have the rest."""
        owners = [board for board in self.model.option_set.order if sizes[board]]
        inner = group.wanted.start + group.unit * np.cumsum([sizes[board] for board in owners[:-1]], dtype=int)
        ends = [0, *map(int, inner), size]
        ranges = {board: range(ends[place], ends[place + 1]) for place, board in enumerate(owners)}
        return Distribution(self.axis, tuple(ranges.get(board, range(0)) for board in range(len(sizes))))

    @property
    def _graph(self) -> Graph:
        return self.model.costs.graph

    @cached_property
    def _divided(self) -> frozenset[int]:
        return frozenset(number for group in self.groups for number in group.layers)

    def _part(self, group: Group, board: int) -> PartModel:
        """Return the models of a group's part on a board."""
        objective = self.model.costs.settings.objective
        resources = {FLASH: _sum(self.models.flash(number, board) for number in group.layers)}
        for number in group.layers:
            if self._may_lack_ram(number, board):
                resources[self._ram_of(number)] = self.models.ram(number, board)
        energy = self._costs(group, board, Objective.ENERGY) if objective is Objective.ENERGY else None
        return PartModel(self._costs(group, board, Objective.LATENCY), energy, resources)

    def _costs(self, group: Group, board: int, objective: Objective) -> DivisionCosts:
        costs = [self.models.costs(number, board, objective) for number in group.layers]
        every = ((each.compute for each in costs), (each.inputs for each in costs), (each.outputs for each in costs))
        return DivisionCosts(*(_sum(models) * MS for models in every))

    def _limits(self, board: int) -> Mapping[str, float]:
        """Return the flash of a board and its RAM for each divided layer, where they are not sure to suffice."""
        memory = self._memory(board)
        limits = {
            self._ram_of(number): float(memory.ram_bytes)
            for number in sorted(self._divided)
            if self._may_lack_ram(number, board)
        }
        flash = [self._whole(number, board).flash_bytes for number in range(len(self._graph.layers))]
        if sum(flash) <= memory.flash_bytes:
            return limits
        undivided_bytes = sum(flash[number] for number in range(len(flash)) if number not in self._divided)
        most = most_flash_bytes(self.model.costs.boards[board], memory.flash_bytes)
        limits[FLASH] = float(most - undivided_bytes * (board == self.model.output_board))
        if limits[FLASH] <= 0:
            raise CheckFailedError(
                f"board {board + 1} ({memory.name}) has {memory.flash_bytes} bytes of flash for layers, and those that "
                f"are not divided by {self.axis} take {undivided_bytes}"
            )
        return limits

    def _may_lack_ram(self, number: int, board: int) -> bool:
        return self._whole(number, board).ram_bytes > self._memory(board).ram_bytes

    def _memory(self, board: int) -> DeviceLimits:
        return free_memory(self.model.costs.table, self.model.costs.boards[board])

    def _ram_of(self, number: int) -> str:
        return f"RAM of {self._graph.layers[number].name}"

    def _whole(self, number: int, board: int) -> PartCost:
        return self.model.costs.of(number, board, SliceAxis.ROWS, range(self._graph.shape(number).height))


def _sum(models: Iterable[Posynomial]) -> Posynomial:
    return sum(models, start=ZERO)
