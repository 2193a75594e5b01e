"""Searches for layers divided over boards, timed."""

import time
from collections.abc import Sequence

from tinysplit.boards.catalog import load_all
from tinysplit.common.choices import SliceSolver
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.distribution import SliceAxis
from tinysplit.network.graph import Graph
from tinysplit.slices.result import SliceResult
from tinysplit.slices.sliced_network import SlicedNetwork
from tinysplit.slices.solvers import slice_solver
from tinysplit.split import clock

BITS = 8


def sliced_network(graph: Graph, boards: Sequence[str], baud: int) -> SlicedNetwork:
    """Return a network with 8 bits on boards, to be divided; input and output are at board 1."""
    settings = CostSettings(baud=baud, bits=BITS)
    return SlicedNetwork(shipped_table(), graph, load_all(boards), settings, BitWidths.of(graph, BITS), 0, 0)


def solve_timed(
    solver: SliceSolver, network: SlicedNetwork, axes: tuple[SliceAxis, ...], limit_s: float
) -> tuple[SliceResult, float]:
    """Return the best division that a solver finds in `limit_s` seconds, and the seconds that it took."""
    start = time.perf_counter()
    result = slice_solver(solver)(network, axes, clock.now() + limit_s)
    return result, time.perf_counter() - start
