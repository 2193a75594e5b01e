"""`solve`: what `auto` chooses, names of solvers, and errors that say why there is no split."""

from collections.abc import Callable
from dataclasses import replace
from math import inf, isclose, isfinite

import pytest

from session.fake_clock import fake_clock
from session.profiles import cases
from splits.brute_force import BruteForce
from splits.chain_problems import by_hand, large_chain, random_chain, with_power
from splits.random_problems import ALL_KINDS, random_problem
from tinysplit.common.choices import SOLVERS
from tinysplit.common.errors import CheckFailedError, UsageError
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.evaluate.replication import replicate
from tinysplit.split.explain.infeasible import InfeasibleError
from tinysplit.split.problem import DeviceLimits, LayerCosts, Objective, Period, Problem
from tinysplit.split.solve import solve
from tinysplit.split.solvers import dispatch

N_PROBLEMS = cases(quick=20, full=100, nightly=3000)


def with_branches(problem: Problem) -> Problem:
    """Let every third layer also be read by the layer after the next one."""
    layers = tuple(
        replace(layer, inputs=(k - 2, k - 1) if k % 3 == 2 else (k - 1,)) for k, layer in enumerate(problem.layers)
    )
    devices = tuple(replace(device, ram_bytes=10**6) for device in problem.devices)
    return replace(problem, layers=layers, devices=devices)


def test_auto_agrees_with_brute_force(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "AUTO_EXHAUSTIVE_CANDIDATES", 0)
    n_feasible, chosen = 0, set[str]()
    for seed in range(N_PROBLEMS):
        problem = random_problem(seed, replace(ALL_KINDS, fused=seed % 2 == 0))
        expected = BruteForce(problem).least()
        n_feasible += isfinite(expected)
        if isfinite(expected):
            split = solve(problem)
            assert evaluate(problem, split.assignment).is_feasible, seed
            assert isclose(split.objective, expected, rel_tol=1e-9, abs_tol=1e-12), seed
            assert split.proved, seed
            chosen.add(split.solver)
        else:
            with pytest.raises(InfeasibleError):
                solve(problem)
    assert n_feasible > N_PROBLEMS * 0.6
    assert chosen == {"chain-labels", "dag-labels"}


@pytest.mark.parametrize(
    ("change", "solver", "why"),
    [
        (lambda problem: problem, "chain-labels", ""),
        (lambda problem: replace(problem, objective=Objective.THROUGHPUT), "chain-labels", ""),
        (
            lambda problem: replace(problem, objective=Objective.THROUGHPUT, period_definition=Period.SPAN),
            "dag-labels",
            ", and the period is span",
        ),
        (with_branches, "dag-labels", ", and the network has branches"),
    ],
)
def test_auto_chooses_by_shape_and_objective(change: Callable[[Problem], Problem], solver: str, why: str) -> None:
    split = solve(change(large_chain(12, 2, 0)))
    assert split.solver == solver
    assert split.picked_because == f"auto: 2^12 assignments are too many to evaluate each{why}"
    assert split.proved
    few = solve(change(large_chain(5, 2, 0)))
    assert (few.solver, few.picked_because) == ("exhaustive", "auto: 2^5 assignments are few enough to evaluate each")


def test_auto_solves_energy_on_more_boards_than_sets_of_powered_ones_can_be_searched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake_clock(monkeypatch, tick_s=0.005)
    split = solve(with_power(large_chain(30, 11, 0), 0.001), time_limit_s=1.0)
    assert (split.solver, evaluate(split.problem, split.assignment).is_feasible) == ("dag-labels", True)
    assert 0 < split.lower_bound <= split.objective


def test_every_solver_has_a_name_and_no_other_is_known() -> None:
    assert tuple(SOLVERS) == ("exhaustive", "chain-labels", "dag-labels", "highs")
    problem = large_chain(6, 2, 0)
    expected = solve(problem).objective
    for name in SOLVERS:
        split = solve(problem, name)
        assert (split.solver, split.picked_because) == (name, "")
        assert isclose(split.objective, expected, rel_tol=1e-9)
    with pytest.raises(UsageError, match=r"unknown solver 'cplex': use one of auto, exhaustive, .*highs"):
        solve(problem, "cplex")


def test_what_is_not_proved_has_a_split_and_a_bound_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = replace(large_chain(80, 6, 5), objective=Objective.THROUGHPUT)
    clock = fake_clock(monkeypatch, tick_s=0.05)
    split = solve(problem, time_limit_s=1.5)
    assert clock.readings < 1.5 / 0.05 + 80 + 20  # the first pass is always finished: one reading a layer
    assert evaluate(problem, split.assignment).is_feasible
    assert not split.proved
    assert 0 < split.lower_bound < split.objective


def test_nothing_found_in_time_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_clock(monkeypatch, tick_s=1.0)  # a fast machine may look at several blocks in the least limit
    # The last layer runs on the second board alone, and nothing gets there from the first: no candidate of the first
    # block, which begins on the first board, is feasible.
    layers = tuple(LayerCosts.alike(f"l{k}", 1, 1, 1, (1.0 if k < 19 else inf, 1.0)) for k in range(20))
    problem = Problem(layers, (DeviceLimits("a", 20, 1), DeviceLimits("b", 20, 1)), (((0.0, inf), (inf, 0.0)),) * 20)
    with pytest.raises(
        CheckFailedError, match=r"no split of 20 layers on 2 boards found in 0 s.*larger boards"
    ) as caught:
        solve(problem, "exhaustive", time_limit_s=0)
    assert not isinstance(caught.value, InfeasibleError)


def test_limits_do_not_change_what_auto_chooses() -> None:
    assert solve(by_hand()).solver == "exhaustive"
    large = solve(random_chain(30, 4, 1.5, seed=1))
    limited = solve(replace(large.problem, max_latency_s=2 * large.objective))
    assert (limited.solver, limited.picked_because) == (large.solver, large.picked_because)


def test_copies_of_the_whole_network_by_hand() -> None:
    # Alone a computes 2 s and talks to the host for 1 s, b 5 s and 1 s: answers every 1 / (1/3 + 1/6) = 2 s, two of
    # three on a. a draws 2 * 5 + 1 * 3 = 13 J, b 5 * 5 + 1 * 3 = 28 J for each of its own.
    layers = (LayerCosts.alike("l", 1, 1, 1, (2.0, 5.0)),)
    devices = tuple(DeviceLimits(name, 1, 1, run_w=5.0, transfer_w=3.0, idle_w=1.0) for name in "ab")
    problem = Problem(layers, devices, (((0.0, 1.0), (1.0, 0.0)),), host_seconds=((0.5, 0.5), (0.5, 0.5)))
    copies = replicate(problem)
    assert copies is not None
    assert copies.devices == (0, 1)
    assert copies.period_s == pytest.approx(2.0)
    assert copies.energy_j == pytest.approx(13 * 2 / 3 + 28 / 3)
    slower = replicate(replace(problem, frame_period_s=10.0))  # both wait for 8 s more, at 1 W each
    assert slower is not None
    assert slower.energy_j == pytest.approx(copies.energy_j + 16)
    assert replicate(replace(problem, max_energy_j=17.0)) is None
    with pytest.raises(CheckFailedError):
        solve(replace(problem, max_energy_j=12.0))
