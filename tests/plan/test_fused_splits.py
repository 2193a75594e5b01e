"""Splits of networks whose first layers fit a board only with fused rows: what is split is what the plan needs."""

from dataclasses import replace

import pytest

from tinysplit.boards.catalog import load_all
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.graph import Graph
from tinysplit.papers.reproduce.networks import mobilenet_v1
from tinysplit.plan.plan import make_plan
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.explain.infeasible import InfeasibleError
from tinysplit.split.problem import Objective, Problem
from tinysplit.split.solve import solve

G0, L4 = "nucleo_g071rb", "nucleo_l452re"
SETTINGS = CostSettings(baud=921_600)


@pytest.fixture(scope="module")
def network() -> Graph:
    """Visual wake words of MLPerf Tiny: its first layers take 36 880 bytes, a G071 has 33 792."""
    return mobilenet_v1(0.25, side=96, n_classes=2)


def problem_on(network: Graph, *names: str, **settings: object) -> Problem:
    return make_problem(shipped_table(), network, load_all(names), replace(SETTINGS, **settings))  # type: ignore[arg-type]


def test_a_split_has_the_arenas_of_its_plan(network: Graph) -> None:
    boards = load_all((G0, G0, G0, G0))
    problem = make_problem(shipped_table(), network, boards, SETTINGS)
    assert max(row[0] for row in (layer.ram_bytes for layer in problem.layers)) > problem.devices[0].ram_bytes
    split = solve(problem)
    assert split.proved
    widths = BitWidths.all(network, SETTINGS.bits)
    plan = make_plan(
        shipped_table(), network, widths, boards, problem, split.assignment, SETTINGS.link_settings_on(boards)
    )
    assert tuple(board.arena.size_bytes for board in plan.boards) == split.figures.ram_bytes
    assert sorted(split.figures.ram_bytes) == [5632, 7968, 10912, 27872]


def test_what_is_missing_is_named_with_fused_rows(network: Graph) -> None:
    with pytest.raises(InfeasibleError, match=r"bytes of flash, both boards together have \d+: \d+ bytes short"):
        solve(problem_on(network, G0, G0))


def test_fused_layers_are_not_cut_apart_where_one_does_not_fit_alone(network: Graph) -> None:
    problem = problem_on(network, G0, G0, G0, G0)
    needed = [
        fused.producer
        for fused in problem.fused
        if any(problem.layers[layer].ram_bytes[0] > problem.devices[0].ram_bytes for layer in fused.layers)
    ]
    assert needed
    assignment = solve(problem).assignment
    limit_bytes = problem.devices[0].ram_bytes
    linked = replace(problem, alone=None)  # alone, a board has kernels of little flash
    for producer in needed:
        assert assignment[producer] == assignment[producer + 1]
        apart = (0,) * (producer + 1) + (1,) * (len(problem.layers) - producer - 1)
        assert max(evaluate(problem, apart).ram_bytes) > limit_bytes
        assert evaluate(linked, (0,) * len(problem.layers)).ram_bytes[0] <= limit_bytes


@pytest.mark.parametrize("objective", [Objective.LATENCY, Objective.THROUGHPUT])
def test_a_larger_board_takes_the_layers_alone(network: Graph, objective: Objective) -> None:
    problem = problem_on(network, G0, L4, objective=objective)
    split = solve(problem)
    assert split.figures.is_feasible
    assert split.proved
    worse = solve(replace(problem, fused=()))
    assert split.objective <= worse.objective
