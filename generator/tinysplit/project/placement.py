"""Where a split file places the layers of a network, or the parts of layers, as the simulation takes it."""

from collections.abc import Sequence

from tinysplit.boards.board import Board
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import CycleTable
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.distribute import distribute
from tinysplit.network.distribution_check import check_distributions
from tinysplit.network.graph import Graph
from tinysplit.network.quantized_distribution import distributed_widths
from tinysplit.project.split_file import SplitFile
from tinysplit.split.problem import Problem
from tinysplit.split.report.arrivals import Placement


def placement_of(
    table: CycleTable, split: SplitFile, graph: Graph, boards: Sequence[Board], settings: CostSettings, whole: Problem
) -> Placement:
    """Return the layers of `split` in the problem `whole`, or their parts in a problem of their own.

    Raises InputError for slices that the network cannot have.
    """
    how = split.distributions
    if how is None:
        return Placement(whole, split.devices, split.copied_devices)
    check_distributions(graph, how, len(boards))
    widths = split.bit_widths or BitWidths.of(graph, settings.bits)
    parts = distribute(graph, how, len(boards), widths)
    divided = distributed_widths(graph, parts, widths)
    return Placement(make_problem(table, parts, boards, settings, divided), parts.boards)
