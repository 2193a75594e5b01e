"""Segment search against a brute force that shares nothing with it, on small problems of every kind."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise, product
from math import inf, isclose, isfinite
from random import Random

import pytest

from tinysplit.errors import CheckFailedError, UsageError
from tinysplit.split import label_search as module
from tinysplit.split.branch_and_bound import branch_and_bound
from tinysplit.split.label_search import label_search
from tinysplit.split.priced_chain import Chain, PricedBound, raise_bound, start_of
from tinysplit.split.problem import DeviceLimits, LayerCosts, Objective, Problem

FEASIBLE_CASES = 1200  # with each width


def small_problem(rng: Random) -> Problem:
    """Return up to 4^5 or 2^8 candidates with ties, zeros, infinities, twins, and memories that just fit or do not."""
    d = rng.randint(1, 4)
    n = rng.randint(1, {1: 6, 2: 8, 3: 6, 4: 5}[d])
    times = rng.choice([(0.0, 1.0, 2.0, 3.0), (0.0, 1.0, 1.0, 2.0, inf), None])

    def time() -> float:
        return rng.choice(times) if times else rng.uniform(0.001, 10)

    identical = rng.random() < 0.4
    layers = []
    for k in range(n):
        seconds = (time(),) * d if identical else tuple(time() for _ in range(d))
        layers.append(LayerCosts(f"l{k}", rng.randint(0, 20), rng.randint(0, 10), 1, seconds))
    total = sum(layer.flash_bytes for layer in layers)

    def limits(k: int) -> DeviceLimits:
        return DeviceLimits(f"b{k}", total // d + rng.randint(0, rng.choice([2, 8, 20])), rng.choice([10, 10, 10, 8]))

    devices = [limits(k) for k in range(d)]
    if identical:
        devices = [DeviceLimits(f"b{k}", devices[0].flash_bytes, devices[0].ram_bytes) for k in range(d)]
    cut = [rng.choice([0.0, 0.1, 1.0]) for _ in range(n)]
    transfers = tuple(
        tuple(tuple(0.0 if i == h else cut[k] if identical else time() for h in range(d)) for i in range(d))
        for k in range(n)
    )
    must_use_all, keep_last_two = rng.random() < 0.4, rng.random() < 0.3
    return Problem(tuple(layers), tuple(devices), transfers, must_use_all=must_use_all, keep_last_two=keep_last_two)


def brute_force(problem: Problem) -> float:
    """Return the least I of all candidates, infinite where none is feasible."""
    n, d = len(problem.layers), len(problem.devices)
    best = inf
    for candidate in product(range(d), repeat=n):
        if problem.must_use_all and len(set(candidate)) < d:
            continue
        if problem.keep_last_two and candidate[-2:] != candidate[-1:] * len(candidate[-2:]):
            continue
        flash = [0] * d
        seconds = 0.0
        for layer, device in zip(problem.layers, candidate, strict=True):
            flash[device] += layer.flash_bytes
            seconds += layer.seconds[device] if layer.ram_bytes <= problem.devices[device].ram_bytes else inf
        if any(used > device.flash_bytes for used, device in zip(flash, problem.devices, strict=True)):
            continue
        for table, (sender, receiver) in zip(problem.transfer_seconds, pairwise(candidate), strict=False):
            seconds += table[sender][receiver]
        best = min(best, seconds)
    return best


def small_problems(count: int, seed: int = 7) -> Iterator[tuple[Problem, float]]:
    rng = Random(seed)  # noqa: S311 (no secret)
    for _ in range(count):
        problem = small_problem(rng)
        yield problem, brute_force(problem)


def large_problem(n: int, d: int, seed: int) -> Problem:
    rng = Random(seed)  # noqa: S311 (no secret)
    speeds = [10 ** rng.uniform(6.5, 7.9) for _ in range(d)]
    layers = tuple(
        LayerCosts(
            f"l{k}", rng.randint(500, 20000), 1, rng.randint(500, 16000), tuple(rng.random() * 1e6 / s for s in speeds)
        )
        for k in range(n)
    )
    needed = sum(layer.flash_bytes for layer in layers)
    sizes = [rng.uniform(0.5, 1.5) for _ in range(d)]
    devices = tuple(DeviceLimits(f"b{k}", int(1.2 * needed * size / sum(sizes)), 1) for k, size in enumerate(sizes))
    transfers = tuple(
        tuple(tuple(0.0 if i == h else layer.out_bytes * 1e-5 for h in range(d)) for i in range(d)) for layer in layers
    )
    return Problem(layers, devices, transfers)


@pytest.mark.parametrize("width", [1, module.FIRST_WIDTH])  # 1: passes drop labels, and learn from them
def test_agrees_with_brute_force(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_WIDTH", width)
    monkeypatch.setattr(module, "explain", lambda _: CheckFailedError("searched, and nothing fits"))
    n_feasible = n_searched = 0
    for problem, expected in small_problems(3 * FEASIBLE_CASES, seed=width):
        if isfinite(expected):
            split = label_search(problem)
            assert problem.is_feasible(split.assignment)
            assert isclose(split.objective, expected, rel_tol=1e-9, abs_tol=1e-12), problem
            assert split.proved
            n_feasible += 1
        else:
            with pytest.raises(CheckFailedError) as caught:
                label_search(problem)
            n_searched += "searched" in str(caught.value)
        if n_feasible == FEASIBLE_CASES:
            break
    assert n_feasible == FEASIBLE_CASES
    assert n_searched > FEASIBLE_CASES // 10


def test_infeasible_problems_are_explained_as_by_branch_and_bound() -> None:
    n_checked = 0
    for problem, expected in small_problems(200):
        if isfinite(expected):
            continue
        texts = []
        for solver in (label_search, branch_and_bound):
            with pytest.raises(CheckFailedError) as caught:
                solver(problem)
            texts.append(str(caught.value))
        assert texts[0] == texts[1]
        n_checked += 1
    assert n_checked > 10


def test_throughput_and_limits_are_for_other_solvers() -> None:
    problem = large_problem(5, 2, 0)
    for other in (replace(problem, objective=Objective.THROUGHPUT), replace(problem, max_latency_s=1.0)):
        with pytest.raises(UsageError, match="knows neither throughput nor limits: take --solver branch-and-bound"):
            label_search(other)


def test_bounds_are_not_above_the_optimum() -> None:
    for problem, expected in small_problems(400):
        chain = Chain.of(problem)
        root = start_of(chain)
        unpriced = PricedBound.at(chain, root.free * 0)
        raised = raise_bound(chain, root, unpriced.prices, expected, 20)
        assert (raised.prices >= 0).all()
        for bound in (unpriced, raised):
            assert bound.seconds_left(root) <= expected + 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_thirty_layers_as_branch_and_bound(seed: int) -> None:
    problem = large_problem(30, 4, seed)
    ours, theirs = label_search(problem), branch_and_bound(problem)
    assert ours.proved
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-9)


@pytest.mark.parametrize("seed", range(2))
def test_bound_of_an_interrupted_search_is_true(seed: int) -> None:
    problem = large_problem(40, 4, seed)
    early, late = label_search(problem, time_limit_s=0), label_search(problem)
    assert late.proved
    assert early.lower_bound <= late.objective * (1 + 1e-9)
    assert late.objective <= early.objective * (1 + 1e-9)


def test_ends_in_time_with_a_bound() -> None:
    problem = large_problem(200, 8, 1)
    split = label_search(problem, time_limit_s=1)
    assert split.spent_s < 2  # idle machine: 1.0 s
    assert problem.is_feasible(split.assignment)
    assert not split.proved
    assert 0 < split.gap < 0.5


def test_nothing_found_in_time_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    # A slow board has to take one layer of 3 bytes; one label follows the fast one until it is full.
    layers = tuple(LayerCosts(f"l{k}", 1 + 2 * (k > 3), 1, 1, (1.0, 9.0)) for k in range(6))
    transfers = (((0.0, 1.0), (1.0, 0.0)),) * 6
    problem = Problem(layers, (DeviceLimits("a", 4, 1), DeviceLimits("b", 6, 1)), transfers)
    monkeypatch.setattr(module, "FIRST_WIDTH", 1)
    monkeypatch.setattr(module, "FIRST_STEPS", 0)
    assert label_search(problem).proved
    problem = Problem(layers, (DeviceLimits("a", 5, 1), DeviceLimits("b", 5, 1)), transfers)
    with pytest.raises(CheckFailedError, match="no split of 6 layers on 2 boards found in 0 s"):
        label_search(problem, time_limit_s=0)
