"""A network to be divided over boards, and its divisions, evaluated as they would be generated."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf

from tinysplit.boards.board import Board
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import CycleTable
from tinysplit.memory.shared_memory import unaligned_rows
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.distribute import distribute
from tinysplit.network.distribution import Distributions, SliceAxis
from tinysplit.network.distribution_check import reasons_against
from tinysplit.network.graph import Graph
from tinysplit.network.quantized_distribution import distributed_widths
from tinysplit.slices.distribution_problem import DistributionModel, most_flash_bytes
from tinysplit.slices.links import with_links
from tinysplit.slices.part_costs import PartCosts
from tinysplit.split.evaluate.evaluation import Evaluation, evaluate

MOST_ORDERS = 6  # of boards of different kinds


@dataclass(frozen=True, eq=False)
class Sliced:
    """Evaluated distributions; `settings` are those of its links."""

    distributions: Distributions
    graph: Graph
    settings: CostSettings
    figures: Evaluation

    @property
    def is_feasible(self) -> bool:
        """Whether all boards have the memory and links for it, and limits hold."""
        return self.figures.is_feasible


@dataclass(frozen=True, eq=False)
class SlicedNetwork:
    """A network on boards; `widths` are those of the whole network. Input and output are at two boards.

    No arena is larger than `max_arena_bytes`.
    """

    table: CycleTable
    graph: Graph
    boards: Sequence[Board]
    settings: CostSettings
    widths: BitWidths
    input_board: int
    output_board: int
    max_arena_bytes: float = inf

    def orders(self) -> Iterator[tuple[int, ...]]:
        """Yield the boards in the order of their parts, all of them first; of boards of one kind, the first ones.

        All take part where the settings ask for it.
        """
        least = len(self.boards) if self.settings.use_all else 2
        for n_parts in range(len(self.boards), least - 1, -1):
            seen: set[tuple[str, ...]] = set()
            for order in self._sequences(n_parts, range(len(self.boards))):
                kinds = tuple(map(self._kind, order))
                if self.input_board in order and kinds[::-1] not in seen:
                    seen.add(kinds)
                    yield order
                if len(seen) == MOST_ORDERS:
                    break

    def _sequences(self, n_parts: int, boards: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """Yield sequences of so many of the boards, one of each sequence of kinds, that with the input first."""
        if not n_parts:
            yield ()
            return
        firsts = {self._kind(board): board for board in reversed(boards)}
        for first in sorted(firsts.values(), key=lambda board: (board != self.input_board, board)):
            others = [board for board in boards if board != first]
            yield from ((first, *rest) for rest in self._sequences(n_parts - 1, others))

    def _kind(self, board: int) -> str:
        return self.boards[board].name + "<" * (board == self.input_board) + ">" * (board == self.output_board)

    def linked(self, order: Sequence[int]) -> CostSettings:
        """Return the settings with the links of boards that are wired in `order`."""
        return with_links(self.settings, self.boards, order, self.input_board)

    @cached_property
    def _part_costs(self) -> PartCosts:
        return PartCosts(self.table, self.graph, self.boards, self.settings, self.widths)

    def model(self, order: tuple[int, ...], axes: Sequence[SliceAxis]) -> DistributionModel:
        """Return the model of divisions by `axes` over boards wired in `order`; all orders share costs of parts."""
        costs = replace(self._part_costs, settings=self.linked(order))
        return DistributionModel.of(costs, order, axes, self.input_board, self.output_board)

    def evaluated(self, how: Distributions, settings: CostSettings) -> Sliced | None:
        """Return a division with the links of `settings`, evaluated; None if it cannot be generated or does not fit."""
        found = self.generated(how, settings)
        return found if found and self.may_fit(found) else None

    def may_fit(self, found: Sliced) -> bool:
        """Return whether it is feasible; flash may be short by less than what packed weights take less than bounds."""
        return found.figures.is_feasible_with(self._most_flash(found))

    def excess_flash(self, found: Sliced) -> tuple[int, ...]:
        """Return by how many bytes each board's flash is too small for it; 0 where it may fit."""
        used = zip(found.figures.flash_bytes, self._most_flash(found), strict=True)
        return tuple(max(0, own - most) for own, most in used)

    def excess_ram(self, found: Sliced) -> tuple[int, ...]:
        """Return by how many bytes each board's RAM, or the largest arena, is too small for it."""
        figures, problem = found.figures, found.figures.problem
        used = zip(figures.ram_bytes, figures.link_bytes, problem.devices, problem.arena_limits, strict=True)
        return tuple(
            int(max(0, arena + links - device.ram_bytes, arena - limit)) for arena, links, device, limit in used
        )

    def _most_flash(self, found: Sliced) -> Sequence[int]:
        devices = zip(self.boards, found.figures.problem.devices, strict=True)
        return [most_flash_bytes(board, device.flash_bytes) for board, device in devices]

    def generated(self, how: Distributions, settings: CostSettings) -> Sliced | None:
        """Return a division with the links of `settings`, evaluated, feasible or not; None if it cannot be generated.

        Its kernels are those of its parts, their memory is planned, and times are those of the firmware's event graph.
        """
        if any(reasons_against(self.graph, how, len(self.boards))):
            return None
        parts = distribute(self.graph, how, len(self.boards), self.widths)
        widths = distributed_widths(self.graph, parts, self.widths)
        if any(unaligned_rows(parts, widths)):
            return None
        problem = make_problem(self.table, parts, self.boards, settings, widths)
        problem = replace(problem, max_arena_bytes=self.max_arena_bytes)
        return Sliced(how, parts, settings, evaluate(problem, parts.boards))
