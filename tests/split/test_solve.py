import time
from collections.abc import Callable
from dataclasses import replace
from math import isclose, isfinite

import pytest

from brute_force import BruteForce
from chain_problems import large_problem, powered
from profiles import cases
from random_problems import Kinds, random_problem
from tinysplit.common.errors import CheckFailedError, UsageError
from tinysplit.split import solve as module
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.evaluate.replication import replicate
from tinysplit.split.explain.infeasible import InfeasibleError
from tinysplit.split.problem import Assignment, DeviceLimits, LayerCosts, Objective, Period, Problem
from tinysplit.split.solution import Split
from tinysplit.split.solve import SOLVERS, solve
from tinysplit.split.solvers import race as race_module
from tinysplit.split.solvers.race import best_of, race
from tinysplit.split.solvers.worker import Worker

N_INSTANCES = cases(quick=60, full=150, nightly=3000)
SOON_S = 3.0  # that a busy machine may take longer


def with_branches(problem: Problem) -> Problem:
    """Let every third layer also be read by the layer after the next one."""
    layers = tuple(
        replace(layer, inputs=(k - 2, k - 1) if k % 3 == 2 else (k - 1,)) for k, layer in enumerate(problem.layers)
    )
    devices = tuple(replace(device, ram_bytes=10**6) for device in problem.devices)
    return replace(problem, layers=layers, devices=devices)


@pytest.mark.parametrize("block", range(3))
def test_auto_agrees_with_brute_force(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AUTO_FULL_SEARCH_CANDIDATES", 0)
    n_feasible, picked = 0, set[str]()
    for seed in range(block, N_INSTANCES, 3):
        problem = random_problem(seed)
        expected = BruteForce(problem).least()
        n_feasible += isfinite(expected)
        if isfinite(expected):
            split = solve(problem)
            assert evaluate(problem, split.assignment).is_feasible, seed
            assert isclose(split.objective, expected, rel_tol=1e-9, abs_tol=1e-12), seed
            assert split.proved, seed
            picked.add(split.solver)
        else:
            with pytest.raises(InfeasibleError):
                solve(problem)
    assert n_feasible > N_INSTANCES / 3 * 0.4
    assert picked == {"labels", "branch-and-bound", "graph"}


@pytest.mark.parametrize(
    ("change", "solver"),
    [
        (lambda problem: problem, "labels"),
        (lambda problem: replace(problem, objective=Objective.THROUGHPUT), "labels"),
        (
            lambda problem: replace(problem, objective=Objective.THROUGHPUT, period_definition=Period.SPAN),
            "branch-and-",
        ),
        (with_branches, "graph"),
    ],
)
def test_auto_picks_by_shape_and_objective(change: Callable[[Problem], Problem], solver: str) -> None:
    split = solve(change(large_problem(12, 2, 0)))
    assert split.solver.startswith(solver)
    assert split.picked_because.startswith("auto: 2^12 candidates are too many to look at")
    assert split.proved
    few = solve(change(large_problem(5, 2, 0)))
    assert (few.solver, few.picked_because) == ("full", "auto: 2^5 candidates are few enough to look at each")


def test_auto_knows_energy_on_more_boards_than_labels_can_take_sets_of() -> None:
    split = solve(powered(large_problem(60, 11, 0), 0.001), time_limit_s=1.0)
    assert (split.solver, evaluate(split.problem, split.assignment).is_feasible) == ("branch-and-bound", True)
    assert 0 < split.lower_bound <= split.objective


def test_every_solver_has_a_name_and_no_other_is_known() -> None:
    problem = large_problem(6, 2, 0)
    expected = solve(problem).objective
    for name in ("full", "branch-and-bound", "labels", "graph", "highs"):
        assert isclose(SOLVERS[name](problem).objective, expected, rel_tol=1e-9)
    with pytest.raises(UsageError, match=r"unknown solver 'cplex': take one of auto, full, .*highs"):
        solve(problem, "cplex")


def test_what_highs_prints_disturbs_nobody(capfd: pytest.CaptureFixture[str]) -> None:
    problem = random_problem(24, Kinds(periods=(Period.LOAD,)))  # one of those where it does
    assert isclose(solve(problem, "highs").objective, BruteForce(problem).least(), rel_tol=1e-9)
    assert capfd.readouterr().out == ""


def test_highs_refuses_what_is_not_linear() -> None:
    problem = replace(large_problem(6, 2, 0), objective=Objective.THROUGHPUT, period_definition=Period.OLD)
    with pytest.raises(UsageError, match="--solver highs knows no old period"):
        solve(problem, "highs")


def hard_problem() -> Problem:
    """Return one that nothing proves in seconds: many layers of about the same size on boards that just hold them."""
    return replace(large_problem(120, 7, 5), objective=Objective.THROUGHPUT)


def test_what_does_not_close_has_a_split_and_a_bound_in_time() -> None:
    start = time.perf_counter()
    split = solve(hard_problem(), time_limit_s=5.0)
    assert time.perf_counter() - start < 5.0 + SOON_S
    assert evaluate(split.problem, split.assignment).is_feasible
    assert not split.proved
    assert 0 < split.lower_bound < split.objective
    assert split.picked_because.endswith("labels alone did not prove its split, so HiGHS looked beside it")


def test_a_race_ends_with_the_first_proof() -> None:
    problem = large_problem(30, 3, 1)
    start = time.perf_counter()
    found = best_of(race(problem, ("labels", "highs"), time_limit_s=60.0))
    assert time.perf_counter() - start < 30.0
    assert found.proved
    assert found.problem is problem
    assert isclose(found.objective, solve(problem, "branch-and-bound").objective, rel_tol=1e-9)


def test_the_best_of_several_has_the_largest_bound() -> None:
    problem = large_problem(3, 2, 0)
    better, worse = sorted(((0, 0, 0), (0, 1, 0)), key=lambda assignment: evaluate(problem, assignment).value)
    value = evaluate(problem, better).value
    best = best_of([split_of(problem, better, 0.1 * value), split_of(problem, worse, 0.2 * value)])
    assert (best.assignment, best.lower_bound, best.explored) == (better, 0.2 * value, 2)
    assert best_of([best, split_of(problem, worse, 2 * value)]).lower_bound == value  # better than it is rounding


def split_of(problem: Problem, assignment: Assignment, lower_bound: float) -> Split:
    return Split(problem, assignment, lower_bound, 1, "by hand", 0.0)


def test_a_race_that_excludes_all_says_so() -> None:
    layers = tuple(LayerCosts.alike(f"l{k}", 2, 1, 1, (1.0, 1.0)) for k in range(3))
    devices = (DeviceLimits("a", 3, 9), DeviceLimits("b", 3, 9))
    problem = Problem(layers, devices, (((0.0, 1.0), (1.0, 0.0)),) * 3)
    with pytest.raises(InfeasibleError, match="no assignment packs them"):
        race(problem, ("labels", "highs"), time_limit_s=20.0)


def test_a_solver_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(race_module, "GRACE_S", 0.0)
    start = time.perf_counter()
    assert race(hard_problem(), ("labels", "highs"), time_limit_s=0.2) == []
    assert time.perf_counter() - start < SOON_S


def test_a_solver_that_dies_gives_no_answer() -> None:
    worker = Worker(hard_problem(), "labels", time.time() + 60)
    worker._process.kill()
    assert worker.answer() is None
    worker.stop()


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
