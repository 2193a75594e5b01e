"""Execution time and memory of bit widths on the boards of an assignment."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from tinysplit.boards.board import Board
from tinysplit.common.errors import CheckFailedError
from tinysplit.costs.problem_builder import CostSettings, make_problem
from tinysplit.memory.kernel_choice import KernelChoice
from tinysplit.network.bit_widths import LONG, SHORT, BitWidths
from tinysplit.network.graph import Graph
from tinysplit.plan.plan import make_plan
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.problem import Assignment


@dataclass(frozen=True, eq=False)
class WidthCosts:
    """A network on boards; `assignment` has the board of each layer, counted from 0."""

    graph: Graph
    boards: tuple[Board, ...]
    settings: CostSettings
    assignment: Assignment

    def seconds(self, widths: BitWidths) -> float:
        """Return the time of all layers and of all transfers between boards."""
        choices = {
            index: KernelChoice(self.graph, widths, self.boards[index], self.settings.code_memory)
            for index in set(self.assignment)
        }
        layers = sum(self._layer_seconds(number, choices[index]) for number, index in enumerate(self.assignment))
        lengths = (widths.values[layer.output] for layer in self.graph.layers)
        return layers + sum(self._cut_seconds[bits][number] for number, bits in enumerate(lengths))

    def fits(self, widths: BitWidths) -> bool:
        """Return whether flash holds all constants and code, the planned arenas fit, and the split's limits hold."""
        problem = make_problem(self.graph, self.boards, self.settings, widths)
        if not evaluate(problem, self.assignment).is_feasible:
            return False
        links, optimize, kernels = self.settings.link_settings, self.settings.optimize, self.settings.kernels
        try:
            make_plan(self.graph, widths, self.boards, problem, self.assignment, links, optimize, kernels)
        except CheckFailedError:
            return False
        return True

    def _layer_seconds(self, number: int, choice: KernelChoice) -> float:
        kernel = choice.kernel(number, self.settings.optimize, dict(self.settings.kernels).get(number))
        return choice.seconds(number, kernel)

    @cached_property
    def _cut_seconds(self) -> Mapping[int, list[float]]:
        """Seconds of the transfers of each layer's output to other boards, by its bits."""
        seconds = {bits: [0.0] * len(self.graph.layers) for bits in (SHORT, LONG)}
        for bits, of_layer in seconds.items():
            widths = BitWidths.all(self.graph, bits)
            for cut in evaluate(make_problem(self.graph, self.boards, self.settings, widths), self.assignment).cuts:
                of_layer[cut.after_layer] += cut.seconds
        return seconds
