"""Latency and throughput in all definitions of the period, with limits: by hand, published figures, brute force."""

import random
from dataclasses import replace
from math import isclose, isfinite

import pytest

from session.profiles import cases
from splits import exhaustive as module
from splits.brute_force import BruteForce
from splits.exhaustive import exhaustive_search
from splits.random_problems import Kinds, random_problem
from tinysplit.boards.catalog import load_board
from tinysplit.common.errors import CheckFailedError, UsageError
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.graph import Graph
from tinysplit.papers.reproduce.networks import mobilenet_v1, yamnet_256
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.evaluate.replication import replicate
from tinysplit.split.problem import DeviceLimits, LayerCosts, Objective, Period, Problem
from tinysplit.split.solve import solve
from tinysplit.split.solvers.labels.search import label_search
from tinysplit.split.solvers.lower_bound import lower_bound_without_transfers
from tinysplit.split.solvers.no_split import NoSplitError

N_PROBLEMS = cases(quick=20, full=200, nightly=4000)
ARRAY_CHAINS = Kinds(branches=False, links=False, energy=False, host=False)
PUBLISHED = [  # Santamaria 2021, Table 4: boards, inferences a second
    (mobilenet_v1(0.25), ("nucleo_h743zi", "nucleo_l4r5zi"), "4.0342"),
    (mobilenet_v1(0.30), ("nucleo_h743zi", "nucleo_f401re"), "0.5438"),
    (mobilenet_v1(0.35), ("nucleo_h743zi", "nucleo_l4r5zi"), "2.3792"),
    (yamnet_256(), ("nucleo_h743zi", "nucleo_l4r5zi"), "0.2781"),
]


def chain(seconds: tuple[tuple[float, ...], ...], sending: tuple[float, ...]) -> Problem:
    """Layers of one byte on boards with room for all; a cut behind a layer takes its `sending`."""
    n_devices = len(seconds[0])
    layers = tuple(LayerCosts.alike(f"l{k}", 1, 1, 1, row) for k, row in enumerate(seconds))
    transfers = tuple(
        tuple(tuple(0.0 if i == h else s for h in range(n_devices)) for i in range(n_devices)) for s in sending
    )
    devices = tuple(DeviceLimits(f"b{k}", len(layers), 1) for k in range(n_devices))
    return Problem(layers, devices, transfers)


@pytest.mark.parametrize("max_tails", [4, module.MAX_TAILS])  # few: heads are joined with tails
@pytest.mark.parametrize("block", range(2))
def test_arrays_of_assignments_agree_with_brute_force(
    block: int, max_tails: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_TAILS", max_tails)
    n_feasible = 0
    for seed in range(block, N_PROBLEMS, 2):
        problem = random_problem(seed, ARRAY_CHAINS)
        expected = BruteForce(problem).least()
        n_feasible += isfinite(expected)
        if not isfinite(expected):
            with pytest.raises(NoSplitError):
                exhaustive_search(problem)
            continue
        split = exhaustive_search(problem)
        assert isclose(split.objective, expected, rel_tol=1e-9, abs_tol=1e-12), (seed, split)
        assert split.proved, seed
        assert evaluate(problem, split.assignment).is_feasible, seed
        assert lower_bound_without_transfers(problem) <= expected * (1 + 1e-9), seed
    assert n_feasible > N_PROBLEMS / 2 * 0.6  # the others are infeasible for both


# Board a computes 1 s of layer 1 and 2 s of layer 3, board b 4 s of layer 2; it takes 0.5 s to send from a to b and
# 0.25 s back. a is busy 1 + 0.5 + 2 = 3.5 s, b 4 + 0.25 = 4.25 s; from its first layer to its last a needs
# 1 + 0.5 + 4 + 0.25 + 2 = 7.75 s, b 4.25 s.
THERE_AND_BACK = chain(((1.0, 9.0), (9.0, 4.0), (2.0, 9.0)), (0.5, 0.25, 0.0))


@pytest.mark.parametrize(
    ("definition", "period_s"),
    [
        (Period.FIRMWARE, 7.75),
        (Period.LOAD, 4.25),
        (Period.SPAN, 7.75),
        (Period.PAPER, 4.25),
        (Period.OLD, 4.25),
    ],
)
def test_periods_by_hand(definition: Period, period_s: float) -> None:
    problem = replace(THERE_AND_BACK, period_definition=definition, objective=Objective.THROUGHPUT)
    assert evaluate(problem, (0, 1, 0)).period_s == evaluate(problem, (0, 1, 0)).value == period_s
    assert evaluate(replace(problem, objective=Objective.LATENCY), (0, 1, 0)).value == 7.75
    assert evaluate(problem, (0, 0, 0)).period_s == 1 + 9 + 2


def test_paper_takes_the_span_of_the_busiest_board_and_old_the_load_of_the_slowest() -> None:
    # With 2 s to send from a to b, a is busy 1 + 2 + 2 = 5 s and b 4.25: the busiest is a, whose span is 9.25 s. b
    # still computes most.
    problem = chain(((1.0, 9.0), (9.0, 4.0), (2.0, 9.0)), (2.0, 0.25, 0.0))
    periods = {period: evaluate(replace(problem, period_definition=period), (0, 1, 0)).period_s for period in Period}
    assert periods == {Period.FIRMWARE: 9.25, Period.LOAD: 5.0, Period.SPAN: 9.25, Period.PAPER: 9.25, Period.OLD: 4.25}


def test_equally_busy_boards_count_with_their_longest_period() -> None:
    problem = replace(chain(((1.0, 9.0), (9.0, 2.0), (1.0, 9.0)), (0.0, 0.0, 0.0)), period_definition=Period.PAPER)
    swapped = replace(problem, layers=tuple(replace(layer, seconds=layer.seconds[::-1]) for layer in problem.layers))
    assert evaluate(problem, (0, 1, 0)).period_s == evaluate(swapped, (1, 0, 1)).period_s == 4.0


@pytest.mark.parametrize(("graph", "pair", "answers"), PUBLISHED, ids=[graph.name for graph, _, _ in PUBLISHED])
def test_throughputs_of_table_4(graph: Graph, pair: tuple[str, str], answers: str) -> None:
    settings = CostSettings(cost_model="santamaria-2021", objective=Objective.THROUGHPUT)
    problem = make_problem(shipped_table(), graph, [load_board(name) for name in pair], settings)
    assert problem.period_definition is Period.PAPER
    split = solve(problem)
    assert split.proved
    assert f"{1 / split.objective:.4f}" == answers


def test_limits_shape_the_best_split() -> None:
    problem = THERE_AND_BACK  # fastest (0, 1, 0) with 7.75 s and a period of 4.25 s
    for solver in ("auto",):
        assert solve(problem, solver).assignment == (0, 1, 0)
        with pytest.raises(CheckFailedError, match=r"the latency limit of 5000 ms: the shortest latency .* 7750 ms"):
            solve(replace(problem, max_latency_s=5.0), solver)
        with pytest.raises(CheckFailedError, match=r"the period limit of 4000 ms: the shortest period .* 4250 ms"):
            solve(replace(problem, max_period_s=4.0), solver)
        assert solve(replace(problem, max_period_s=4.25), solver).objective == 7.75


def test_limits_that_contradict_each_other() -> None:
    # All on one board: 4 s, one answer every 4 s. On both: a period of 2 s, but 5 s with the transfer.
    problem = chain(((2.0, 2.0), (2.0, 2.0)), (1.0, 0.0))
    for solver in ("auto",):
        assert solve(replace(problem, max_period_s=3.0), solver).objective == 5.0
        assert solve(replace(problem, max_latency_s=4.0, objective=Objective.THROUGHPUT), solver).objective == 4.0
        with pytest.raises(CheckFailedError) as caught:
            solve(replace(problem, max_latency_s=4.5, max_period_s=3.5), solver)
        assert str(caught.value) == (
            "the limits contradict each other: of the splits that meet the latency limit of 4500 ms, the shortest "
            "period found is 4000 ms, not 3500 ms"
        )


@pytest.mark.parametrize("limit", [0.0, -1.0, float("nan")])
def test_limits_that_are_none(limit: float) -> None:
    with pytest.raises(UsageError, match=r"a maximum period of .* s excludes every split: it must be positive"):
        replace(THERE_AND_BACK, max_period_s=limit)


def test_memory_is_the_reason_before_a_limit_is() -> None:
    small = tuple(replace(device, flash_bytes=2) for device in THERE_AND_BACK.devices[:1])
    problem = replace(chain(((1.0,), (9.0,), (2.0,)), (0.0,) * 3), devices=small, max_latency_s=0.1)
    with pytest.raises(CheckFailedError, match="needs 3 bytes of flash"):
        solve(problem)


@pytest.mark.parametrize("definition", list(Period))
def test_an_interrupted_search_has_a_true_bound(definition: Period) -> None:
    rng = random.Random(3)  # noqa: S311 (no secret)
    seconds = tuple(tuple(rng.uniform(0.1, 2) for _ in range(3)) for _ in range(11))
    problem = chain(seconds, tuple(rng.uniform(0, 0.3) for _ in range(11)))
    problem = replace(problem, objective=Objective.THROUGHPUT, period_definition=definition)
    best = exhaustive_search(problem)
    early = label_search(problem, time_limit_s=0)
    assert best.proved
    assert early.lower_bound <= best.objective <= early.objective
    assert early.gap == pytest.approx(1 - early.lower_bound / early.value)


def test_copies_of_the_whole_network() -> None:
    # 12 s on board a, 22 s on b: a third copy of nothing; together 1 / (1/12 + 1/22).
    copies = replicate(replace(THERE_AND_BACK, must_use_all=True))
    assert copies is not None
    assert copies.devices == (0, 1)
    assert copies.period_s == pytest.approx(1 / (1 / 12 + 1 / 22))
    only_fast = replicate(replace(THERE_AND_BACK, max_latency_s=20.0))
    assert only_fast is not None
    assert only_fast.devices == (0,)
    assert only_fast.period_s == pytest.approx(12.0)
    assert replicate(replace(THERE_AND_BACK, max_latency_s=5.0)) is None
