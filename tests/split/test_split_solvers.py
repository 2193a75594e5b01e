"""Solvers against an independent brute force, hand-computed figures, and each other."""

from dataclasses import replace
from itertools import pairwise, product
from math import inf, isclose, isfinite

import numpy as np
import pytest
from hypothesis import given, settings

from brute_force import BruteForce
from chain_problems import by_hand, equal_links, problems, random_problem
from profiles import cases
from tinysplit.common.errors import CheckFailedError, UsageError
from tinysplit.reproduce.branch_and_bound import branch_and_bound
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.problem import DeviceLimits, LayerCosts, Objective, Problem
from tinysplit.split.solution import Split
from tinysplit.split.solve import SOLVERS, solve
from tinysplit.split.solvers import bounds as module
from tinysplit.split.solvers.bounds import LatencyBound, earlier_twins, fastest_devices, flash_prices, unlimited_flash
from tinysplit.split.solvers.chain.lagrangian import RunBounds, Runs
from tinysplit.split.solvers.chain.resources import ChainRows, StepCosts
from tinysplit.split.solvers.chain.search import label_search
from tinysplit.split.solvers.dag.search import graph_search
from tinysplit.split.solvers.enumerate import full_search
from tinysplit.split.topology import Links


def brute_force(problem: Problem) -> float:
    """Seed 000's definitions written down once more, sharing nothing with the package."""
    best = inf
    n, d = len(problem.layers), len(problem.devices)
    for candidate in product(range(d), repeat=n):
        flash = [0] * d
        feasible = True
        total = 0.0
        for layer, device in zip(problem.layers, candidate, strict=True):
            flash[device] += layer.flash_bytes[device]
            feasible &= layer.ram_bytes[device] <= problem.devices[device].ram_bytes
            total += layer.seconds[device]
        feasible &= all(flash[i] <= problem.devices[i].flash_bytes for i in range(d))
        feasible &= not problem.must_use_all or len(set(candidate)) == d
        feasible &= not problem.keep_last_two or n == 1 or candidate[-1] == candidate[-2]
        for table, (sender, receiver) in zip(problem.transfer_seconds, pairwise(candidate), strict=False):
            total += table[sender][receiver] if sender != receiver else 0.0
        if feasible:
            best = min(best, total)
    return best


def check(split: Split, expected: float) -> None:
    assert evaluate(split.problem, split.assignment).is_feasible
    assert isclose(split.objective, expected, rel_tol=1e-9, abs_tol=1e-12)
    assert split.proved
    assert split.gap < 1e-9


@settings(max_examples=cases(quick=20, full=100, nightly=2000))
@given(problems())
def test_solvers_agree_with_brute_force(problem: Problem) -> None:
    expected = brute_force(problem)
    for solver in (solve, full_search, branch_and_bound, lambda p: branch_and_bound(p, as_published=True)):
        if isfinite(expected):
            check(solver(problem), expected)
        else:
            with pytest.raises(CheckFailedError):
                solver(problem)


@settings(max_examples=cases(quick=20, full=100, nightly=1000))
@given(problems())
def test_bounds_are_admissible(problem: Problem) -> None:
    expected = brute_force(problem)
    prices = flash_prices(problem)
    priced = unlimited_flash(problem, prices)[0][0]
    value = sum(price * device.flash_bytes for price, device in zip(prices, problem.devices, strict=True))
    assert fastest_devices(problem)[0][0] <= unlimited_flash(problem)[0][0] + 1e-9
    assert max(unlimited_flash(problem)[0][0], priced - value) <= expected + 1e-9
    assert min(prices) >= 0


def test_hand_computed_optimum() -> None:
    # All on the slow board 9 s; a + c on the fast one 1 + 1 + 2 + 0.5 + 1 = 5.5; a + b and b + c do not fit;
    # b alone there 3 + 1 + 1 + 0.5 + 4 = 9.5, a alone 1 + 1 + 6 = 8, c alone 5 + 0.5 + 1 = 6.5.
    for name in SOLVERS.keys() - {"stages", "algorithm-1"}:  # one knows no latency, the other no memory
        split = solve(by_hand(), name)
        assert split.assignment == (0, 1, 0)
        assert split.figures.l_s == 4.0
        assert split.figures.t_s == 1.5
        assert split.objective == 5.5
        assert split.figures.flash_bytes == (90, 70)
        assert split.figures.ram_bytes == (10, 10)
    assert full_search(by_hand()).explored == 2**3


def test_full_search_counts_every_candidate_beyond_one_block() -> None:
    problem = random_problem(18, 2, 1.2, seed=1)
    split = full_search(problem)
    assert split.explored == 2**18
    check(branch_and_bound(problem), split.objective)


def test_full_search_refuses_what_would_take_hours() -> None:
    expected = r"4\^30 = 1\.2e\+18 candidates, more than 1073741824: take --solver branch-and-bound"
    with pytest.raises(UsageError, match=expected):
        full_search(random_problem(30, 4, 1.2, seed=1))


def test_full_search_ends_in_time_with_a_bound() -> None:
    problem = random_problem(24, 2, 1.2, seed=1)
    split = full_search(problem, time_limit_s=0)
    assert split.explored == 2**16
    assert not split.proved
    assert split.lower_bound < branch_and_bound(problem).objective <= split.objective
    assert split.gap == pytest.approx(1 - split.lower_bound / split.objective)


def test_branch_and_bound_ends_in_time_with_a_bound() -> None:
    problem = random_problem(100, 6, 1.05, seed=1)
    split = branch_and_bound(problem, time_limit_s=0.2)
    assert split.spent_s < 2
    assert not split.proved
    assert 0 < split.gap < 1
    assert evaluate(problem, split.assignment).is_feasible


@pytest.mark.parametrize("seed", range(3))
def test_bound_of_an_interrupted_search_is_true(seed: int) -> None:
    problem = random_problem(30, 4, 1.2, seed)
    early, late = branch_and_bound(problem, time_limit_s=0), branch_and_bound(problem)
    assert not early.proved
    assert late.proved
    assert early.lower_bound <= late.objective <= early.objective


@pytest.mark.parametrize("seed", range(5))
def test_thirty_layers_on_four_boards(seed: int) -> None:
    split = branch_and_bound(random_problem(30, 4, 1.5, seed))
    assert split.proved
    assert split.spent_s < 5  # about 0.05 s on an idle machine


def test_no_split_in_time_is_said() -> None:
    # The last layer runs on the second board alone, and nothing gets there from the first: no candidate of the first
    # block, which begins on the first board, is feasible.
    layers = tuple(LayerCosts.alike(f"l{k}", 1, 1, 1, (1.0 if k < 19 else inf, 1.0)) for k in range(20))
    problem = Problem(layers, (DeviceLimits("a", 20, 1), DeviceLimits("b", 20, 1)), (((0.0, inf), (inf, 0.0)),) * 20)
    with pytest.raises(CheckFailedError, match=r"no split of 20 layers on 2 boards found in 0 s.*name larger boards"):
        full_search(problem, time_limit_s=0)
    assert set(full_search(problem).assignment) == {1}


def test_auto_says_what_it_picked() -> None:
    small = solve(by_hand())
    assert (small.solver, small.picked_because) == ("full", "auto: 2^3 candidates are few enough to look at each")
    large = solve(random_problem(30, 4, 1.5, seed=1))
    assert (large.solver, large.picked_because) == ("labels", "auto: 4^30 candidates are too many to look at")
    limited = solve(replace(large.problem, max_latency_s=2 * large.objective))
    assert (limited.solver, limited.picked_because) == ("labels", large.picked_because)
    assert solve(by_hand(), "branch-and-bound").picked_because == ""


def test_kws_cnn_of_table_4() -> None:
    # Seed 000's KWS CNN on 49x10: two convolutions with unfolded batch normalization, linear 16, dense 128, dense 12,
    # softmax. Both boards run at 80 MHz and 9 cycles per MACC, so that branch and bound meets ties.
    n, m = 40 * 7 * 28, 16 * 4 * 30
    rows = (  # MACC, parameters, inputs, outputs
        (n * 41, 28 * 41, 490, n),
        (2 * n, 2 * 28, n, n),
        (m * (28 * 40 + 1), 30 * (28 * 40 + 1), n, m),
        (2 * m, 2 * 30, m, m),
        *((i * o + o, i * o + o, i, o) for i, o in ((m, 16), (16, 128), (128, 12))),
        (15 * 12, 0, 12, 12),
    )
    layers = tuple(
        LayerCosts.alike(f"l{k}", 4 * parameters, 4 * max(x, y), 4 * y, (macc * 9 / 80e6,) * 2)
        for k, (macc, parameters, x, y) in enumerate(rows)
    )
    devices = (DeviceLimits("l433rc", 256 * 1024, 64 * 1024), DeviceLimits("l412kb", 128 * 1024, 40 * 1024))
    problem = Problem(layers, devices, equal_links(layers, 2, 8 / 115200), must_use_all=True, keep_last_two=True)
    split = branch_and_bound(problem, as_published=True)
    assert f"{split.objective:.4f}" == "0.8222"
    assert (len(split.sub_models), split.explored) == (3, 18)


def test_unknown_solver() -> None:
    with pytest.raises(UsageError, match="unknown solver 'magic': take one of auto, full, branch-and-bound"):
        solve(by_hand(), "magic")


def test_twins() -> None:
    layers = tuple(LayerCosts.alike(f"l{k}", 1, 1, 1, (1.0, 2.0, 1.0, 1.0)) for k in range(3))
    devices = tuple(DeviceLimits(f"b{k}", 10, 10) for k in range(4))
    problem = Problem(layers, devices, equal_links(layers, 4, 1.0))
    assert earlier_twins(problem) == ((), (), (0,), (0, 2))
    far = tuple(
        tuple(tuple(2 * s if (i, h) == (0, 1) else s for h, s in enumerate(row)) for i, row in enumerate(table))
        for table in problem.transfer_seconds
    )
    assert earlier_twins(replace(problem, transfer_seconds=far)) == ((), (), (), (2,))
    packed = tuple(replace(layer, flash_bytes=(1, 1, 2, 2), ram_bytes=(1, 1, 1, 2)) for layer in layers)
    assert earlier_twins(replace(problem, layers=packed)) == ((), (), (), ())


def star(half_duplex: frozenset[tuple[int, int]] = frozenset(), third_s: float = 1.0) -> Problem:
    """Boards alike, 0 linked with all others, which are linked with nothing else; so far everything is shared alike."""
    layers = tuple(LayerCosts.alike(f"l{k}", 1, 1, 1, (1.0,) * 4) for k in range(5))
    between = [(0.0, 1.0, 1.0, third_s), (1.0, 0.0, inf, inf), (1.0, inf, 0.0, inf), (third_s, inf, inf, 0.0)]
    links = Links((tuple(between),) * 5, ((True,) * 4,) * 5, half_duplex)
    devices = tuple(DeviceLimits(f"b{k}", 2, 10) for k in range(4))
    return Problem(layers, devices, links.transfer_seconds, links=links)


def test_twins_with_links() -> None:
    assert earlier_twins(star()) == ((), (), (1,), (1, 2))  # the hub alone passes tensors on
    assert earlier_twins(star(third_s=2.0)) == ((), (), (1,), ())
    assert earlier_twins(star(frozenset({(0, 1)}))) == ((), (), (), (2,))
    assert earlier_twins(star(frozenset({(0, 1), (0, 2), (0, 3)}))) == ((), (), (1,), (1, 2))


@pytest.mark.parametrize("half_duplex", [frozenset[tuple[int, int]](), frozenset({(0, 1), (0, 2), (0, 3)})])
@pytest.mark.parametrize("objective", list(Objective))
def test_twins_with_links_change_no_optimum(objective: Objective, half_duplex: frozenset[tuple[int, int]]) -> None:
    problem = star(half_duplex)
    devices = tuple(replace(device, run_w=0.3, transfer_w=0.2, idle_w=0.1) for device in problem.devices)
    problem = replace(problem, devices=devices, objective=objective)
    for solver in (branch_and_bound, label_search, graph_search):
        check(solver(problem), BruteForce(problem).least())


@pytest.mark.parametrize("seed", range(20))
def test_prices_that_cancel_lift_no_bound(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Flash that just suffices may cost anything: of two sums that grow with it a small difference is left."""
    problem = random_problem(6, 2, 1.5, seed)
    best = full_search(problem)
    full = tuple(
        replace(device, flash_bytes=used)
        for device, used in zip(problem.devices, best.figures.flash_bytes, strict=True)
    )
    problem = replace(problem, devices=full)
    price = 1e8 * best.objective
    monkeypatch.setattr(module, "flash_prices", lambda _: [price, price])
    assert LatencyBound(problem).of(0, 0, 0.0, best.figures.flash_bytes) <= best.objective
    runs = Runs(ChainRows.of(StepCosts(problem), range(2)))
    bounds = RunBounds(runs, np.array([[1.0, price, price]]), runs.whole(runs.rows.limits))
    assert bounds.least()[0] <= best.objective
