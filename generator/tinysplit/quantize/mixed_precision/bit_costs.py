"""Execution time and memory of bit widths on the boards of an assignment."""

from dataclasses import dataclass

from tinysplit.boards.board import Board
from tinysplit.common.errors import CheckFailedError
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import CycleTable
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.graph import Graph
from tinysplit.plan.plan import make_plan
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.problem import Assignment


@dataclass(frozen=True, eq=False)
class WidthCosts:
    """A network on boards; `assignment` has the board of each layer, counted from 0."""

    table: CycleTable
    graph: Graph
    boards: tuple[Board, ...]
    settings: CostSettings
    assignment: Assignment

    def seconds(self, widths: BitWidths) -> float:
        """Return the time of all layers and of all transfers between boards."""
        return evaluate(make_problem(self.table, self.graph, self.boards, self.settings, widths), self.assignment).i_s

    def fits(self, widths: BitWidths) -> bool:
        """Return whether flash holds all constants and code, the planned arenas fit, and the split's limits hold."""
        problem = make_problem(self.table, self.graph, self.boards, self.settings, widths)
        if not evaluate(problem, self.assignment).is_feasible:
            return False
        links = self.settings.link_settings_on(self.boards)
        optimize, kernels = self.settings.optimize, self.settings.kernels
        try:
            make_plan(self.table, self.graph, widths, self.boards, problem, self.assignment, links, optimize, kernels)
        except CheckFailedError:
            return False
        return True
