"""The plans of a split: of whole layers, of the parts of layers, or of copies of the network."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tinysplit.boards.board import Board
from tinysplit.common.errors import TinysplitError
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import CycleTable
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.distribute import distribute
from tinysplit.network.distribution import Distributions
from tinysplit.network.graph import Graph
from tinysplit.network.quantized_distribution import distributed_widths
from tinysplit.plan.copies import plan_copies
from tinysplit.plan.plan import Plan
from tinysplit.split.problem import Assignment, Problem
from tinysplit.split.solution import GIVEN, Placement, Split


@dataclass(frozen=True, eq=False)
class PlacedNetwork:
    """A network, or its parts where its layers are divided, and the board of each layer in each copy of it."""

    graph: Graph
    widths: BitWidths
    assignments: Sequence[Assignment]

    @classmethod
    def of(
        cls,
        graph: Graph,
        widths: BitWidths,
        n_boards: int,
        placement: Placement,
    ) -> "PlacedNetwork":
        """Return `graph` as it is placed, or its parts."""
        if placement.distributions is None:
            return cls(graph, widths, placement.assignments)
        parts = distribute(graph, placement.distributions, n_boards, widths)
        return cls(parts, distributed_widths(graph, parts, widths), (parts.boards,))

    def problem(self, table: CycleTable, boards: Sequence[Board], settings: CostSettings) -> Problem:
        """Return its splitting problem. The errors are those of `make_problem`."""
        return make_problem(table, self.graph, boards, settings, self.widths)

    def plans(
        self, table: CycleTable, boards: Sequence[Board], problem: Problem, settings: CostSettings
    ) -> tuple[Plan, ...]:
        """Return the plan of each copy; `problem` has the costs of the layers. The errors are those of `make_plan`."""
        chosen = (settings.link_settings_on(boards), settings.optimize, settings.kernels, settings.code_memory)
        boards = settings.limited(boards)
        return plan_copies(table, self.graph, self.widths, boards, problem, self.assignments, *chosen)


def with_programs(
    split: Split,
    table: CycleTable,
    graph: Graph,
    boards: Sequence[Board],
    settings: CostSettings,
    widths: BitWidths | None = None,
) -> Split:
    """Return the split of `graph` with the programs of its plans; as it is where it has none, as `generate` tells.

    `widths` replaces the bits of `settings`.
    """
    if split.timing is None:
        return split
    whole_widths = widths or BitWidths.of(graph, settings.bits)
    placed = PlacedNetwork.of(graph, whole_widths, len(boards), split.placement)
    try:
        plans = placed.plans(table, boards, split.problem, settings)
    except TinysplitError:
        return split
    return replace(split, programs=tuple(plan.program() for plan in plans))


def split_of_plans(plans: Sequence[Plan], distributions: Distributions | None = None) -> Split:
    """Return what was planned, which nobody searched for: its figures are those that `split` has."""
    copies = [plan.assignment[0] for plan in plans] if len(plans) > 1 else []
    programs = tuple(plan.program() for plan in plans)
    slowest = max(plans, key=lambda plan: plan.program().computing_s)
    return Split(
        slowest.problem,
        slowest.assignment,
        lower_bound=0.0,
        explored=0,
        solver=GIVEN,
        spent_s=0.0,
        copies=tuple(copies),
        distributions=distributions,
        programs=programs,
    )
