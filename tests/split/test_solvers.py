"""Solvers on chains: against brute force, by hand, and interchangeable boards."""

from collections.abc import Callable
from dataclasses import replace
from math import inf, isclose, isfinite

import pytest
from hypothesis import given, settings

from milp.highs import solve_with_highs
from session.profiles import cases
from splits.brute_force import BruteForce
from splits.chain_problems import by_hand, chains, equal_links, random_chain
from splits.exhaustive import exhaustive_search
from tinysplit.common.errors import UsageError
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.problem import DeviceLimits, FusedLayers, LayerCosts, Objective, Problem
from tinysplit.split.solution import Split
from tinysplit.split.solve import solve
from tinysplit.split.solvers.labels.search import label_search
from tinysplit.split.solvers.no_split import NoSplitError
from tinysplit.split.solvers.symmetry import earlier_interchangeable
from tinysplit.timing.topology import Links


def check(split: Split, expected: float) -> None:
    assert evaluate(split.problem, split.assignment).is_feasible
    assert isclose(split.objective, expected, rel_tol=1e-9, abs_tol=1e-12)
    assert split.proved
    assert split.gap < 1e-9


@pytest.mark.parametrize("solver", [exhaustive_search, label_search])
@settings(max_examples=cases(quick=10, full=60, nightly=500))
@given(problem=chains())
def test_chains_have_the_latency_of_brute_force(solver: Callable[[Problem], Split], problem: Problem) -> None:
    expected = BruteForce(problem).least()
    if isfinite(expected):
        check(solver(problem), expected)
    else:
        with pytest.raises(NoSplitError) as caught:
            solver(problem)
        assert caught.value.proved


def test_hand_computed_optimum() -> None:
    # All on the slow board 9 s; a + c on the fast one 1 + 1 + 2 + 0.5 + 1 = 5.5; a + b and b + c do not fit;
    # b alone there 3 + 1 + 1 + 0.5 + 4 = 9.5, a alone 1 + 1 + 6 = 8, c alone 5 + 0.5 + 1 = 6.5.
    for solver in (solve, label_search, exhaustive_search, solve_with_highs):
        split = solver(by_hand())
        assert split.assignment == (0, 1, 0)
        assert split.figures.l_s == 4.0
        assert split.figures.t_s == 1.5
        assert split.objective == 5.5
        assert split.figures.flash_bytes == (90, 70)
        assert split.figures.ram_bytes == (10, 10)
    assert exhaustive_search(by_hand()).explored == 2**3


def test_exhaustive_search_counts_every_assignment_beyond_one_block() -> None:
    problem = random_chain(18, 2, 1.2, seed=1)
    split = exhaustive_search(problem)
    assert split.explored == 2**18
    check(label_search(problem), split.objective)


def test_exhaustive_search_refuses_what_would_take_hours() -> None:
    expected = r"4\^30 = 1\.2e\+18 assignments, more than 1073741824"
    with pytest.raises(UsageError, match=expected):
        exhaustive_search(random_chain(30, 4, 1.2, seed=1))


def test_exhaustive_search_ends_in_time_with_a_bound() -> None:
    problem = random_chain(24, 2, 1.2, seed=1)
    split = exhaustive_search(problem, time_limit_s=0)
    assert split.explored == 2**16
    assert not split.proved
    assert split.lower_bound < label_search(problem).objective <= split.objective
    assert split.gap == pytest.approx(1 - split.lower_bound / split.value)


def test_no_split_in_time_is_said() -> None:
    # The last layer runs on the second board alone, and nothing gets there from the first: no candidate of the first
    # block, which begins on the first board, is feasible.
    layers = tuple(LayerCosts.alike(f"l{k}", 1, 1, 1, (1.0 if k < 19 else inf, 1.0)) for k in range(20))
    problem = Problem(layers, (DeviceLimits("a", 20, 1), DeviceLimits("b", 20, 1)), (((0.0, inf), (inf, 0.0)),) * 20)
    with pytest.raises(NoSplitError) as caught:
        exhaustive_search(problem, time_limit_s=0)
    assert not caught.value.proved
    assert set(exhaustive_search(problem).assignment) == {1}


def test_interchangeable_boards() -> None:
    layers = tuple(LayerCosts.alike(f"l{k}", 1, 1, 1, (1.0, 2.0, 1.0, 1.0)) for k in range(3))
    devices = tuple(DeviceLimits(f"b{k}", 10, 10) for k in range(4))
    problem = Problem(layers, devices, equal_links(layers, 4, 1.0))
    assert earlier_interchangeable(problem) == ((), (), (0,), (0, 2))
    far = tuple(
        tuple(tuple(2 * s if (i, h) == (0, 1) else s for h, s in enumerate(row)) for i, row in enumerate(table))
        for table in problem.transfer_seconds
    )
    assert earlier_interchangeable(replace(problem, transfer_seconds=far)) == ((), (), (), (2,))
    pair = FusedLayers(0, (1, 1, 1, 0), (1,) * 4)
    assert earlier_interchangeable(replace(problem, fused=(pair,))) == ((), (), (0,), ())
    assert earlier_interchangeable(problem, (2, 2, 2, 1)) == ((), (), (0,), ())
    packed = tuple(replace(layer, flash_bytes=(1, 1, 2, 2), ram_bytes=(1, 1, 1, 2)) for layer in layers)
    assert earlier_interchangeable(replace(problem, layers=packed)) == ((), (), (), ())


def star(half_duplex: frozenset[tuple[int, int]] = frozenset(), third_s: float = 1.0) -> Problem:
    """Boards alike, 0 linked with all others, which are linked with nothing else; so far everything is shared alike."""
    layers = tuple(LayerCosts.alike(f"l{k}", 1, 1, 1, (1.0,) * 4) for k in range(5))
    between = [(0.0, 1.0, 1.0, third_s), (1.0, 0.0, inf, inf), (1.0, inf, 0.0, inf), (third_s, inf, inf, 0.0)]
    links = Links((tuple(between),) * 5, ((True,) * 4,) * 5, half_duplex)
    devices = tuple(DeviceLimits(f"b{k}", 2, 10) for k in range(4))
    return Problem(layers, devices, links.transfer_seconds, links=links)


def test_interchangeable_boards_with_links() -> None:
    assert earlier_interchangeable(star()) == ((), (), (1,), (1, 2))  # the hub alone passes tensors on
    assert earlier_interchangeable(star(third_s=2.0)) == ((), (), (1,), ())
    assert earlier_interchangeable(star(frozenset({(0, 1)}))) == ((), (), (), (2,))
    assert earlier_interchangeable(star(frozenset({(0, 1), (0, 2), (0, 3)}))) == ((), (), (1,), (1, 2))


@pytest.mark.parametrize("half_duplex", [frozenset[tuple[int, int]](), frozenset({(0, 1), (0, 2), (0, 3)})])
@pytest.mark.parametrize("objective", list(Objective))
def test_interchangeable_boards_with_links_change_no_optimum(
    objective: Objective, half_duplex: frozenset[tuple[int, int]]
) -> None:
    problem = star(half_duplex)
    devices = tuple(replace(device, run_w=0.3, transfer_w=0.2, idle_w=0.1) for device in problem.devices)
    problem = replace(problem, devices=devices, objective=objective)
    check(label_search(problem), BruteForce(problem).least())
