"""The period of the generated firmware: counts by hand, brute force, and solvers that keep what they promise."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from math import inf, isclose, isfinite

import pytest

from session.profiles import cases
from splits.brute_force import BruteForce
from splits.exhaustive import exhaustive_search
from splits.pipelines import ROOMY, TIGHT, graph_times, pipeline
from splits.random_problems import Kinds, random_problem
from tinysplit.split.evaluate.cycle_ratio import maximum_cycle_ratio
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.evaluate.event_graph import Edge
from tinysplit.split.explain.infeasible import InfeasibleError
from tinysplit.split.problem import LayerCosts, Period, Problem
from tinysplit.split.solution import Split
from tinysplit.split.solve import solve
from tinysplit.split.solvers.labels.search import label_search
from tinysplit.split.solvers.no_split import NoSplitError
from tinysplit.timing.program import Kind
from tinysplit.timing.topology import NETWORK_INPUT

FIRMWARE = Kinds(periods=(Period.FIRMWARE,))
N_PROBLEMS = cases(quick=20, full=100, nightly=3000)


def test_one_board_computes_and_copies() -> None:
    # 18 s of layers; input and output are copied and driven for 0.75 s each. The host's 4 s overlap.
    assert evaluate(pipeline(ROOMY, 2.0), (0, 0)).period_s == 19.5
    # Without buffers the board also waits for the host, and copies nothing.
    blocking = evaluate(pipeline(TIGHT, 2.0), (0, 0))
    assert blocking.period_s == 18 + 3 + 1
    assert [step.kind for step in blocking.blocking] == [Kind.INPUT, Kind.OUTPUT]


def test_two_boards_with_buffers_overlap() -> None:
    # Board x: input 0.75, layer 10, send 0.75.
    figures = evaluate(pipeline(ROOMY, 2.0), (0, 1))
    assert figures.period_s == 11.5
    assert figures.blocking == ()
    # A line of 12 s: the buffer of the sender is copied anew for 0.25 s once the tensor is acknowledged.
    assert evaluate(pipeline(ROOMY, 12.0), (0, 1)).period_s == 12 + 0.125 + 0.25


def test_a_buffer_is_free_once_it_is_copied() -> None:
    problem = pipeline(ROOMY, 20.0)
    assert problem.handoff is not None
    slow = replace(problem, handoff=replace(problem.handoff, copy_s=((0.25, 5.0),) * 3))
    # y copies for 5 s before it grants its buffer again; x is ready after 20 + 0.125 + 0.75.
    assert evaluate(slow, (0, 1)).period_s == 20 + 5 + 0.125


def test_a_link_carries_one_tensor_at_a_time() -> None:
    problem = pipeline(ROOMY, 15.0)
    a, b = problem.layers
    assert problem.handoff is not None
    both = replace(
        problem,
        layers=(a, b, LayerCosts.alike("c", 1, 40, 20, (1.0, 1.0), (0, 1))),
        transfer_seconds=problem.transfer_seconds[:1] * 3,
        handoff=replace(
            problem.handoff,
            wire_s=problem.handoff.wire_s[:1] * 3,
            copy_s=((0.25, 0.25),) * 4,
            send_s=((0.5, 0.5),) * 4,
            receive_s=((0.5, 0.5),) * 4,
        ),
    )
    assert evaluate(both, (0, 0, 1)).period_s == 2 * 15.0


def test_two_boards_without_buffers_wait_for_each_other() -> None:
    # x: 3 s for the host, 10 s, then 2.125 s until the acknowledgement, or until y is ready.
    assert evaluate(pipeline(TIGHT, 2.0), (0, 1)).period_s == 3 + 10 + 2 + 0.125
    # y is slower with a line of 7 s: reply 0.125, 7, layer 8 and 1 for the host, but x takes 3 + 10 + 7.125.
    assert evaluate(pipeline(TIGHT, 7.0), (0, 1)).period_s == 20.125
    assert evaluate(pipeline(TIGHT, 7.0), (1, 0)).period_s == 20.125


def test_ram_decides_what_is_staged() -> None:
    # 20 bytes beside the arena of each board: x has a buffer for what it sends, y for what it receives.
    figures = evaluate(pipeline(60, 2.0), (0, 1))
    assert [(step.device, step.kind) for step in figures.blocking] == [(0, Kind.INPUT), (1, Kind.OUTPUT)]
    assert figures.period_s == 3 + 10 + 0.75


def test_a_driver_that_polls_blocks_its_board() -> None:
    problem = pipeline(ROOMY, 2.0)
    assert problem.handoff is not None
    polling = replace(problem, handoff=replace(problem.handoff, overlaps=False))
    figures = evaluate(polling, (0, 1))
    assert [(step.device, step.kind) for step in figures.blocking] == [(0, Kind.SEND), (1, Kind.RECEIVE)]
    assert figures.period_s == 0.75 + 10 + 2 + 0.125


def test_a_board_that_is_visited_twice_waits() -> None:
    two = replace(pipeline(ROOMY, 2.0), handoff=None)
    tables = (*two.transfer_seconds, two.transfer_seconds[0])
    problem = replace(two, layers=(*two.layers, two.layers[0]), transfer_seconds=tables)
    # 10 on x, 2 there, 8 on y, 2 back, 10 on x.
    assert evaluate(problem, (0, 1, 0)).period_s == 32.0


@pytest.mark.parametrize(
    ("edges", "ratio"),
    [
        ([Edge(0, 0, 3.0, 1)], 3.0),
        ([Edge(0, 1, 3.0, 0), Edge(1, 0, 4.0, 1)], 7.0),
        ([Edge(0, 0, 3.0, 1), Edge(0, 1, 3.0, 1), Edge(1, 0, 4.0, 1)], 3.5),
        ([Edge(0, 1, 1.0, 0), Edge(1, 2, 1.0, 0), Edge(1, 0, 5.0, 1), Edge(2, 0, 9.0, 1), Edge(2, 1, 2.0, 1)], 11.0),
        ([Edge(0, 1, 5.0, 0)], 0.0),
    ],
)
def test_cycle_ratios_by_hand(edges: list[Edge], ratio: float) -> None:
    assert maximum_cycle_ratio(3, edges) == ratio


@pytest.mark.parametrize("block", range(4))
def test_every_assignment_has_the_period_of_the_played_firmware(block: int) -> None:
    for seed in range(block, N_PROBLEMS, 4):
        problem = random_problem(seed, FIRMWARE)
        oracle = BruteForce(problem)
        for assignment in product(range(len(problem.devices)), repeat=len(problem.layers)):
            expected, figures = oracle.outcome(assignment), evaluate(problem, assignment)
            if isfinite(expected.latency_s):
                assert isclose(figures.period_s, expected.period_s, rel_tol=1e-9, abs_tol=1e-12), (seed, assignment)
            assert figures.is_feasible == oracle.is_feasible(assignment), (seed, assignment)


@pytest.mark.parametrize("branches", [False, True])
def test_solvers_agree_with_brute_force(branches: bool) -> None:
    n_feasible = 0
    for seed in range(N_PROBLEMS):
        problem = random_problem(seed, replace(FIRMWARE, branches=branches))
        expected = BruteForce(problem).least()
        n_feasible += isfinite(expected)
        for search in (exhaustive_search, label_search, solve):
            _check(problem, expected, search)
    assert n_feasible > N_PROBLEMS * 0.6


def _check(problem: Problem, expected: float, search: Callable[[Problem], Split]) -> None:
    if not isfinite(expected):
        with pytest.raises((NoSplitError, InfeasibleError)) as caught:
            search(problem)
        assert getattr(caught.value, "proved", True)
        return
    split = search(problem)
    assert isclose(split.objective, expected, rel_tol=1e-9, abs_tol=1e-12), split
    assert split.proved
    assert evaluate(problem, split.assignment).is_feasible


def test_an_interrupted_search_has_a_true_bound() -> None:
    for seed in range(cases(quick=15, full=120, nightly=1500)):
        problem = random_problem(seed, FIRMWARE)
        try:
            split = label_search(problem, time_limit_s=0)
        except NoSplitError:
            continue
        expected = BruteForce(problem).least()
        assert split.lower_bound <= expected * (1 + 1e-9) <= split.objective * (1 + 2e-9), seed


def test_random_arrivals_grow_by_the_period() -> None:
    for seed in range(cases(quick=20, full=100, nightly=1000)):
        problem = random_problem(seed, FIRMWARE)
        assignment = tuple(seed % len(problem.devices) for _ in problem.layers)
        figures = evaluate(problem, assignment)
        if isfinite(figures.period_s):
            ends = [end_s for _, end_s in graph_times(problem, assignment, (0.0,) * 40)]
            assert isclose(ends[-1] - ends[-2], figures.period_s, rel_tol=1e-9, abs_tol=1e-9), seed


def test_a_layer_that_cannot_run_has_no_period() -> None:
    problem = pipeline(ROOMY, 2.0)
    layers = (replace(problem.layers[0], seconds=(inf, 1.0)), problem.layers[1])
    assert evaluate(replace(problem, layers=layers), (0, 0)).period_s == inf
    assert problem.readers[NETWORK_INPUT] == (0,)
