"""Where a split file places the layers of a network, or the parts of layers."""

from collections.abc import Sequence

from tinysplit.boards.board import Board
from tinysplit.common.errors import UsageError
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import CycleTable
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.distribution_check import check_distributions
from tinysplit.network.graph import Graph
from tinysplit.plan.plan import Plan
from tinysplit.plan.planned_split import PlacedNetwork
from tinysplit.project.split_file import SplitFile
from tinysplit.settings.costs import PERIOD
from tinysplit.split.problem import Period


def plans_of_file(
    table: CycleTable, split: SplitFile, graph: Graph, boards: Sequence[Board], settings: CostSettings
) -> tuple[Plan, ...]:
    """Return the plan of each copy of the network.

    Raises UsageError for a split with an ideal period, which no firmware has, InputError for slices that the network
    cannot have, and the errors of `make_plan`.
    """
    if split.cost_model or split.period_definition is not Period.FIRMWARE:
        raise UsageError(f"only generated firmware is simulated: split with {PERIOD('firmware')}")
    if split.distributions:
        check_distributions(graph, split.distributions, len(boards))
    widths = split.bit_widths or BitWidths.of(graph, settings.bits)
    placed = PlacedNetwork.of(graph, widths, len(boards), split.placement)
    return placed.plans(table, boards, placed.problem(table, boards, settings), settings)
