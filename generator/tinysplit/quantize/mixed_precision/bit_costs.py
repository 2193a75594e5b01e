"""Execution time and memory of bit widths on the boards of a placement."""

from collections.abc import Iterator
from dataclasses import dataclass

from tinysplit.boards.board import Board
from tinysplit.common.errors import CheckFailedError
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import CycleTable
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.graph import Graph
from tinysplit.plan.planned_split import PlacedNetwork
from tinysplit.split.evaluate.evaluation import Evaluation, evaluate
from tinysplit.split.problem import Problem
from tinysplit.split.solution import Placement


@dataclass(frozen=True, eq=False)
class WidthCosts:
    """A network on boards."""

    table: CycleTable
    graph: Graph
    boards: tuple[Board, ...]
    settings: CostSettings
    placement: Placement

    def seconds(self, widths: BitWidths) -> float:
        """Return the time of an inference, of the slowest copy."""
        return max(each.i_s for each in self._evaluations(*self._placed(widths)))

    def fits(self, widths: BitWidths) -> bool:
        """Return whether flash holds all constants and code, the planned arenas fit, and the split's limits hold."""
        placed, problem = self._placed(widths)
        if not all(each.is_feasible for each in self._evaluations(placed, problem)):
            return False
        try:
            placed.plans(self.table, self.boards, problem, self.settings)
        except CheckFailedError:
            return False
        return True

    def _placed(self, widths: BitWidths) -> tuple[PlacedNetwork, Problem]:
        placed = PlacedNetwork.of(self.graph, widths, len(self.boards), self.placement)
        return placed, placed.problem(self.table, self.boards, self.settings)

    @staticmethod
    def _evaluations(placed: PlacedNetwork, problem: Problem) -> Iterator[Evaluation]:
        return (evaluate(problem, assignment) for assignment in placed.assignments)
