"""Label search against brute force: chains with every objective, limit and link, and larger ones in time."""

from collections.abc import Iterator
from dataclasses import replace
from math import isclose, isfinite

import numpy as np
import pytest

from session.fake_clock import fake_clock
from session.profiles import cases
from splits.brute_force import BruteForce
from splits.chain_problems import large_chain, with_power
from splits.random_problems import Kinds, random_problem
from tinysplit.common.errors import UsageError
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.problem import DeviceLimits, LayerCosts, Objective, Period, Problem
from tinysplit.split.solvers.chain import knapsack_choice as knapsack_module
from tinysplit.split.solvers.chain import search as module
from tinysplit.split.solvers.chain.knapsack import KnapsackBounds
from tinysplit.split.solvers.chain.lagrangian import Runs, States
from tinysplit.split.solvers.chain.resources import ChainResources, StepCosts
from tinysplit.split.solvers.chain.search import chain_label_search
from tinysplit.split.solvers.chain.subgradient import SubgradientAscent
from tinysplit.split.solvers.dag.search import dag_label_search
from tinysplit.split.solvers.no_split import NoSplitError

N_PROBLEMS = cases(quick=15, full=120, nightly=2500)  # with each width, with and without knapsacks
LOADED_CHAINS = Kinds(branches=False, periods=(Period.LOAD,))


def small_problems(count: int, first_seed: int = 0) -> Iterator[tuple[Problem, float]]:
    for seed in range(first_seed, first_seed + count):
        problem = random_problem(seed, LOADED_CHAINS)
        yield problem, BruteForce(problem).least()


@pytest.mark.parametrize("with_knapsacks", [False, True])
@pytest.mark.parametrize("width", [1, module.FIRST_WIDTH])  # 1: passes drop labels, and learn from them
def test_agrees_with_brute_force(width: int, with_knapsacks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_WIDTH", width)
    if with_knapsacks:
        monkeypatch.setattr(module, "KNAPSACK_WIDTH", 0)
        monkeypatch.setattr(knapsack_module, "MAX_CELLS", 3 + 50 * width)  # few: rounding counts
        monkeypatch.setattr(knapsack_module, "SAMPLE", width)
    n_feasible = 0
    for problem, expected in small_problems(N_PROBLEMS, first_seed=width * 10_000 + with_knapsacks * 5_000):
        if not isfinite(expected):
            with pytest.raises(NoSplitError) as caught:
                chain_label_search(problem)
            assert caught.value.proved
            continue
        split = chain_label_search(problem)
        assert evaluate(problem, split.assignment).is_feasible, problem
        assert isclose(split.objective, expected, rel_tol=1e-9, abs_tol=1e-12), problem
        assert split.proved, problem
        n_feasible += 1
    assert n_feasible > 0.7 * N_PROBLEMS


def test_what_is_for_other_solvers() -> None:
    problem = replace(large_chain(5, 2, 0), period_definition=Period.SPAN)
    assert chain_label_search(problem).proved  # the period is not asked for
    with pytest.raises(UsageError, match="supports the period load only, not span: use --solver dag-labels"):
        chain_label_search(replace(problem, objective=Objective.THROUGHPUT))
    branches = tuple(replace(layer, inputs=(max(-1, k - 2), k - 1)) for k, layer in enumerate(problem.layers))
    with pytest.raises(UsageError, match="chain-labels solves chains only"):
        chain_label_search(replace(problem, layers=branches))
    with pytest.raises(UsageError, match="supports at most 10 boards then: use --solver dag-labels"):
        chain_label_search(with_power(large_chain(5, 11, 0), idle_w=0.01))


def test_bounds_are_not_above_the_optimum() -> None:
    for problem, expected in small_problems(cases(quick=20, full=150, nightly=2000)):
        if any(device.idle_w for device in problem.devices):
            continue  # there the optimum may power fewer devices
        resources = ChainResources.of(StepCosts(problem), range(len(problem.devices)))
        n, n_resources = resources.n_objective, len(resources.limits)
        nothing = np.zeros(1, dtype=np.intp)
        first = np.append(np.full(n, 1 / n), np.zeros(n_resources - n))[None]
        caps = np.where(np.isfinite(resources.limits), resources.limits, expected)
        ascent = SubgradientAscent(
            Runs(resources), States(nothing, nothing, np.zeros((1, n_resources))), first, caps, expected
        )
        values = [float(paths.values[0]) for paths in ascent.steps(20)]
        assert (ascent.multipliers >= 0).all()
        assert ascent.multipliers[0, :n].sum() == pytest.approx(1)
        assert isfinite(expected) <= (max(values) <= expected * (1 + 1e-9) + 1e-12)


def test_knapsack_bounds_are_not_above_what_a_partial_assignment_can_reach() -> None:
    rng = np.random.default_rng(0)
    n_checked = 0
    for problem, expected in small_problems(cases(quick=10, full=40, nightly=400), first_seed=70_000):
        if any(device.idle_w for device in problem.devices) or not isfinite(expected):
            continue
        resources = ChainResources.of(StepCosts(problem), range(len(problem.devices)))
        n = resources.n_objective
        prices = rng.random((3, len(resources.limits) - n)) * expected / resources.limits[n:].clip(1)
        weights = np.hstack([rng.dirichlet(np.ones(n), 3), prices])
        kept = [
            KnapsackBounds(resources, weights, device, int(rng.integers(1, 40)))
            for device in range(resources.n_devices)
        ]
        brute_force = BruteForce(problem)
        for assignment, outcome in brute_force.feasible():
            most = brute_force.value(outcome) * (1 + 1e-9) + 1e-12
            totals, before = np.zeros((1, len(resources.limits))), 0
            for layer, device in enumerate(assignment[: resources.n_layers]):
                assert all((bounds.of(layer, np.array([before]), totals) <= most).all() for bounds in kept)
                totals, before = totals + resources.step(layer)[before, device], device
            n_checked += 1
    assert n_checked > 50


def test_a_knapsack_bound_gives_no_credit_for_flash_that_nothing_fits_into() -> None:
    layers = tuple(LayerCosts.alike(f"l{k}", 3, 1, 1, (1.0, 9.0)) for k in range(2))
    transfers = (((0.0, 0.5), (0.5, 0.0)),) * 2
    problem = Problem(layers, (DeviceLimits("a", 5, 1), DeviceLimits("b", 6, 1)), transfers)
    resources = ChainResources.of(StepCosts(problem), range(2))
    start = np.zeros(1, dtype=np.intp), np.zeros((1, 3))
    for n_cells, bound in ((100, 10.5), (1, 2.0)):  # counted in cells of 5 bytes both layers fit
        assert KnapsackBounds(resources, np.array([[1.0, 0.0, 0.0]]), 0, n_cells).of(0, *start) == pytest.approx(bound)


@pytest.mark.parametrize("seed", range(2))
def test_twenty_layers_as_the_search_of_graphs(seed: int) -> None:
    problem = large_chain(20, 3, seed)
    ours, theirs = chain_label_search(problem), dag_label_search(problem)
    assert ours.proved
    assert theirs.proved
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-9)


@pytest.mark.parametrize("objective", Objective)
@pytest.mark.parametrize("seed", range(2))
def test_bound_of_an_interrupted_search_is_true(objective: Objective, seed: int) -> None:
    problem = replace(with_power(large_chain(16, 3, seed), idle_w=0.01), objective=objective)
    early, late = chain_label_search(problem, time_limit_s=0), chain_label_search(problem)
    assert late.proved
    assert early.lower_bound <= late.objective * (1 + 1e-9)
    assert late.objective <= early.objective * (1 + 1e-9)


def test_a_larger_chain_is_proved_for_throughput() -> None:
    split = chain_label_search(replace(large_chain(24, 4, 1), objective=Objective.THROUGHPUT), time_limit_s=120)
    assert split.proved


@pytest.mark.parametrize("idle_w", [0.0, 0.01])
def test_ends_in_time_with_a_bound(idle_w: float, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = large_chain(80, 6, 1)
    other = with_power(problem, idle_w) if idle_w else problem
    clock = fake_clock(monkeypatch, tick_s=0.05)
    split = chain_label_search(other, time_limit_s=1)
    assert clock.readings < 1 / 0.05 + 80 + 20  # the first pass is always finished: one reading a layer
    assert evaluate(problem, split.assignment).is_feasible
    assert not split.proved
    assert 0 < split.gap <= 1


def test_nothing_found_in_time_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    # A slow board has to take one layer of 3 bytes; one label follows the fast one until it is full.
    layers = tuple(LayerCosts.alike(f"l{k}", 1 + 2 * (k > 3), 1, 1, (1.0, 9.0)) for k in range(6))
    transfers = (((0.0, 1.0), (1.0, 0.0)),) * 6
    problem = Problem(layers, (DeviceLimits("a", 4, 1), DeviceLimits("b", 6, 1)), transfers)
    monkeypatch.setattr(module, "FIRST_WIDTH", 1)
    monkeypatch.setattr(module, "FIRST_STEPS", 0)
    assert chain_label_search(problem).proved
    problem = Problem(layers, (DeviceLimits("a", 5, 1), DeviceLimits("b", 5, 1)), transfers)
    with pytest.raises(NoSplitError) as caught:
        chain_label_search(problem, time_limit_s=0)
    assert not caught.value.proved
