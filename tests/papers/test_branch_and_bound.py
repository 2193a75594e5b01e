"""The published branch and bound: against brute force, and the nodes that it counts."""

from dataclasses import replace
from math import isclose, isfinite

import pytest
from hypothesis import given, settings

from session.profiles import cases
from splits.brute_force import BruteForce
from splits.chain_problems import by_hand, chains, equal_links, random_chain
from tinysplit.common.errors import UsageError
from tinysplit.papers.solvers.branch_and_bound import branch_and_bound
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.problem import DeviceLimits, LayerCosts, Objective, Problem
from tinysplit.split.solvers.labels.search import label_search
from tinysplit.split.solvers.no_split import NoSplitError


@settings(max_examples=cases(quick=10, full=100, nightly=1000))
@given(chains())
def test_agrees_with_brute_force(problem: Problem) -> None:
    expected = BruteForce(problem).least()
    if not isfinite(expected):
        with pytest.raises(NoSplitError) as caught:
            branch_and_bound(problem)
        assert caught.value.proved
        return
    split = branch_and_bound(problem)
    assert evaluate(problem, split.assignment).is_feasible
    assert isclose(split.objective, expected, rel_tol=1e-9, abs_tol=1e-12)
    assert split.proved


@pytest.mark.parametrize("seed", range(3))
def test_bound_of_an_interrupted_search_is_true(seed: int) -> None:
    problem = random_chain(24, 4, 1.2, seed)
    best = label_search(problem).objective
    early = branch_and_bound(problem, time_limit_s=0)
    assert not early.proved
    assert early.lower_bound <= best <= early.objective * (1 + 1e-9)


def test_knows_latency_of_chains_alone() -> None:
    with pytest.raises(UsageError, match="supports neither throughput, energy nor limits"):
        branch_and_bound(replace(by_hand(), objective=Objective.THROUGHPUT))
    branches = tuple(replace(layer, inputs=(max(-1, k - 2), k - 1)) for k, layer in enumerate(by_hand().layers))
    with pytest.raises(UsageError, match="this network has branches"):
        branch_and_bound(replace(by_hand(), layers=branches))


def test_kws_cnn_of_table_4() -> None:
    # Santamaria's KWS CNN on 49x10: two convolutions with unfolded batch normalization, linear 16, dense 128, dense 12,
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
    problem = Problem(
        layers, devices, equal_links(layers, 2, 8 / 115200), must_use_all=True, joined=frozenset({len(layers) - 2})
    )
    split = branch_and_bound(problem)
    assert f"{split.objective:.4f}" == "0.8222"
    assert (len(split.sub_models), split.explored) == (3, 18)
