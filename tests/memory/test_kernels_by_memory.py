"""The choice of kernels as the RAM of a board grows: never slower, also where layers fit only fused."""

from dataclasses import replace
from itertools import pairwise

import pytest

from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_board
from tinysplit.costs.link_options import LinkSettings
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels import TABLE_ERROR
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.graph import Graph
from tinysplit.network.layers import Shape
from tinysplit.network.network_builder import NetworkBuilder
from tinysplit.plan.plan import make_plan
from tinysplit.split.explain.infeasible import InfeasibleError
from tinysplit.split.solve import solve

FIRMWARE_BYTES = 4096  # more than any RAM of variables: the sizes below are those for tensors and these


def with_ram(name: str, size_bytes: int) -> Board:
    board = load_board(name)
    near = replace(board.near_memory, size_bytes=size_bytes + FIRMWARE_BYTES)
    return replace(board, device=replace(board.device, ram=(near,)), code_ram=None)


def seconds(graph: Graph, board: Board) -> float:
    return solve(make_problem(shipped_table(), graph, (board,), CostSettings())).objective


def test_more_ram_never_makes_a_network_slower() -> None:
    """Both layers fit one of the smaller boards only fused."""
    graph = NetworkBuilder("pair", Shape(32, 32, 8)).conv(32).conv(16, (3, 3)).graph()
    sizes = (24_000, 29_000, 30_000, 31_000, 33_000, 36_000, 40_000, 60_000)
    found = [seconds(graph, with_ram("nucleo_f401re", size)) for size in sizes]
    assert all(after <= before * (1 + TABLE_ERROR) for before, after in pairwise(found))


@pytest.mark.parametrize("name", ["nucleo_f401re", "nucleo_g071rb"])
def test_what_is_split_is_planned_where_one_pair_spoils_another(name: str) -> None:
    """The third and fourth convolution take more RAM fused than alone, the first two less."""
    net = NetworkBuilder("pairs", Shape(8, 8, 4)).conv(16).conv(32).conv(4).conv(24)
    graph = net.depthwise().average_pool().dense(4).graph()
    planned = 0
    for size in range(0, 3200, 200):
        board = with_ram(name, size)
        problem = make_problem(shipped_table(), graph, (board,), CostSettings())
        try:
            split = solve(problem)
        except InfeasibleError:
            continue
        widths = BitWidths.all(graph, 8)
        plan = make_plan(shipped_table(), graph, widths, (board,), problem, split.assignment, LinkSettings(115_200))
        assert plan.boards[0].arena.size_bytes <= problem.devices[0].ram_bytes
        planned += 1
    assert planned > 3
