"""`solve`: what `auto` chooses, names of solvers, and errors that say why there is no split."""

from collections.abc import Callable
from dataclasses import replace
from math import isclose, isfinite

import pytest

from session.fake_clock import fake_clock
from session.profiles import cases
from splits.brute_force import BruteForce
from splits.chain_problems import large_chain, with_power
from splits.random_problems import ALL_KINDS, random_problem
from tinysplit.common.choices import OLD_SOLVERS
from tinysplit.common.errors import CheckFailedError, UsageError
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.evaluate.replication import replicate
from tinysplit.split.explain.infeasible import InfeasibleError
from tinysplit.split.problem import DeviceLimits, LayerCosts, Objective, Period, Problem
from tinysplit.split.solve import solve
from tinysplit.split.solvers.labels import label_search

N_PROBLEMS = cases(quick=20, full=100, nightly=3000)


def with_branches(problem: Problem) -> Problem:
    """Let every third layer also be read by the layer after the next one."""
    layers = tuple(
        replace(layer, inputs=(k - 2, k - 1) if k % 3 == 2 else (k - 1,)) for k, layer in enumerate(problem.layers)
    )
    devices = tuple(replace(device, ram_bytes=10**6) for device in problem.devices)
    return replace(problem, layers=layers, devices=devices)


def test_agrees_with_brute_force() -> None:
    n_feasible = 0
    for seed in range(N_PROBLEMS):
        problem = random_problem(seed, replace(ALL_KINDS, fused=seed % 2 == 0))
        expected = BruteForce(problem).least()
        n_feasible += isfinite(expected)
        if isfinite(expected):
            split = solve(problem)
            assert evaluate(problem, split.assignment).is_feasible, seed
            assert isclose(split.objective, expected, rel_tol=1e-9, abs_tol=1e-12), seed
            assert split.proved, seed
        else:
            with pytest.raises(InfeasibleError):
                solve(problem)
    assert n_feasible > N_PROBLEMS * 0.6


@pytest.mark.parametrize(
    "change",
    [
        lambda problem: problem,
        lambda problem: replace(problem, objective=Objective.THROUGHPUT),
        lambda problem: replace(problem, objective=Objective.THROUGHPUT, period_definition=Period.SPAN),
        with_branches,
    ],
)
def test_twelve_layers_are_proved(change: Callable[[Problem], Problem]) -> None:
    split = solve(change(large_chain(12, 2, 0)))
    assert (split.solver, split.picked_because, split.proved) == ("labels", "", True)


def test_energy_on_many_boards_has_a_split_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_clock(monkeypatch, tick_s=0.005)
    split = solve(with_power(large_chain(30, 11, 0), 0.001), time_limit_s=1.0)
    assert evaluate(split.problem, split.assignment).is_feasible
    assert 0 < split.lower_bound <= split.objective


def test_old_and_unknown_names_of_solvers() -> None:
    problem = large_chain(6, 2, 0)
    for name in OLD_SOLVERS:
        with pytest.raises(UsageError, match=f"solver {name} is now auto, the one exact search"):
            solve(problem, name)
    with pytest.raises(UsageError, match="unknown solver 'cplex': use one of auto"):
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
    # The first pass has one label, which follows the fast board until that is full, and leaves too much for the other.
    fake_clock(monkeypatch, tick_s=1.0)
    monkeypatch.setattr(label_search, "FIRST_WIDTH", 1)
    monkeypatch.setattr(label_search, "FEW_STEPS", 0)
    layers = tuple(LayerCosts.alike(f"l{k}", 1 + 2 * (k > 3), 1, 1, (1.0, 9.0)) for k in range(6))
    transfers = (((0.0, 1.0), (1.0, 0.0)),) * 6
    problem = Problem(layers, (DeviceLimits("a", 5, 1), DeviceLimits("b", 5, 1)), transfers)
    with pytest.raises(
        CheckFailedError, match=r"no split of 6 layers on 2 boards found in 0 s.*larger boards"
    ) as caught:
        solve(problem, time_limit_s=0)
    assert not isinstance(caught.value, InfeasibleError)


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
