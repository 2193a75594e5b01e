"""Inputs from the board: counts by hand, brute force, and a search that keeps what it promises."""

from dataclasses import replace
from itertools import product
from math import isclose, isfinite

import pytest

from session.profiles import cases
from splits.brute_force import BruteForce
from splits.exhaustive import exhaustive_search
from splits.pipelines import ROOMY, TIGHT, graph_times, pipeline, program_of, simulated
from splits.random_problems import Kinds, random_problem
from tinysplit.common.choices import InputSource
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.problem import Objective, Period, Problem
from tinysplit.split.solvers.labels.search import label_search
from tinysplit.split.solvers.no_split import NoSplitError
from tinysplit.timing.bottleneck import Place
from tinysplit.timing.figures import Timing
from tinysplit.timing.program import Kind

N_PROBLEMS = cases(quick=16, full=60, nightly=1000)


def from_board(problem: Problem) -> Problem:
    return replace(problem, handoff=problem.handoff_parts.with_input_from_board())


def test_one_inference_by_hand() -> None:
    # 0.25 to copy, 10, 0.25, 2 on the line, 0.25, 8, 0.25, 1 to read: 3 to feed less than from the host.
    found = simulated(from_board(pipeline(ROOMY, 2.0)), (0, 1), (5.0,))
    assert (found.passages[0].start_s, found.passages[0].latency_s) == (5.0, 22.0)
    assert found.inference_s == (10 + 0.25 + 0.25 + 2 + 0.25 + 8,)
    assert (found.l_s, found.t_s, found.hidden_s) == (18.0, (2.0,), 0.5)
    x, y = found.boards
    assert (x.computing_s, x.moving_s) == (10.0, 0.25 + 0.25 + 0.5)
    assert (y.computing_s, y.moving_s) == (8.0, 0.25 + 0.5 + 0.25 + 0.5)


@pytest.mark.parametrize(
    ("ram_bytes", "assignment", "period_s"),
    [
        (ROOMY, (0, 0), 0.25 + 18 + 0.75),
        (ROOMY, (0, 1), 0.25 + 10 + 0.75),
        (TIGHT, (0, 0), 18 + 1),  # the board waits until its output was read
        (TIGHT, (0, 1), 10 + 2 + 0.125),
    ],
)
def test_periods_by_hand(ram_bytes: int, assignment: tuple[int, ...], period_s: float) -> None:
    problem = from_board(pipeline(ram_bytes, 2.0))
    figures = evaluate(problem, assignment)
    assert figures.period_s == period_s
    assert Kind.INPUT not in [step.kind for step in figures.blocking]
    assert simulated(problem, assignment, (0.0,) * 20).period_s == pytest.approx(period_s)
    assert Timing((program_of(problem, assignment),)).period_s == pytest.approx(period_s)


def test_a_slow_port_of_the_host_does_not_matter() -> None:
    problem = pipeline(ROOMY, 2.0)
    slow = replace(problem, handoff=replace(problem.handoff_parts, host_s=((30.0, 1.0),) * 2))
    fed, own = (Timing((program_of(each, (0, 1)),)) for each in (slow, from_board(slow)))
    assert (fed.bottleneck.busy.place, own.bottleneck.busy.place) == (Place.INPUT, Place.BOARD)
    assert (fed.period_s, own.period_s) == pytest.approx((30.25, 11.0))
    assert fed.i_s == own.i_s


def test_inputs_that_arrive_wait_for_a_free_board() -> None:
    problem = from_board(pipeline(ROOMY, 2.0))
    found = simulated(problem, (0, 1), [12.0 * number for number in range(20)])
    assert {passage.waiting_s for passage in found.passages} == {0.0}
    assert {round(passage.latency_s, 9) for passage in found.passages} == {22.0}
    # x waits for 12 s less 10 of the layer, 0.25 of the input's copy and 0.75 of the tensor.
    assert found.boards[0].waiting_s(found.end_s) == pytest.approx(found.end_s - 20 * 11)
    burst = simulated(problem, (0, 1), (0.0,) * 4)
    # The first one is in use when the second one takes its place in the buffer.
    assert [passage.start_s for passage in burst.passages] == [0.0, 0.25, 11.25, 22.25]
    assert burst.queue.highest == 3


def test_the_event_graph_agrees() -> None:
    problem = from_board(pipeline(ROOMY, 2.0))
    nothing = ((0.0, 0.0),) * 3  # drivers may work while boards wait, which the graph does not know
    problem = replace(problem, handoff=replace(problem.handoff_parts, receive_s=nothing))
    arrivals_s = (0.0, 3.0, 30.0)
    found = [(passage.start_s, passage.end_s) for passage in simulated(problem, (0, 1), arrivals_s).passages]
    assert found == list(graph_times(problem, (0, 1), arrivals_s))


def test_copies_without_a_host_to_deal_inputs() -> None:
    problem = from_board(pipeline(ROOMY, 2.0))
    assert Timing((program_of(problem, (0, 0)), program_of(problem, (1, 1)))).period_s == pytest.approx(19 / 2)


@pytest.mark.parametrize("objective", Objective)
def test_searches_and_brute_force_agree(objective: Objective) -> None:
    kinds = Kinds(periods=(Period.FIRMWARE,))
    for seed in range(N_PROBLEMS):
        problem = replace(from_board(random_problem(seed, kinds)), objective=objective)
        assert problem.handoff_parts.input_source is InputSource.BOARD
        oracle = BruteForce(problem)
        for assignment in product(range(len(problem.devices)), repeat=len(problem.layers)):
            found, figures = oracle.outcome(assignment), evaluate(problem, assignment)
            if isfinite(found.latency_s):
                assert isclose(figures.period_s, found.period_s, rel_tol=1e-9, abs_tol=1e-12), (seed, assignment)
        try:
            best = exhaustive_search(problem)
        except NoSplitError:
            continue
        assert label_search(problem).objective == pytest.approx(best.objective), seed
