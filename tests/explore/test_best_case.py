"""Best-case figures: no split of a random problem is below them, by the evaluation or by the simulation."""

from dataclasses import replace
from itertools import product
from math import inf
from random import Random

import pytest

from session.profiles import cases
from splits.random_problems import Kinds, random_problem
from tinysplit.explore.best_case import NOWHERE, best_case, best_case_of_copies
from tinysplit.explore.figures import Figures
from tinysplit.explore.simulated import simulated_figures
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.evaluate.replication import replicate
from tinysplit.split.problem import DeviceLimits, LayerCosts, Objective, Period, Problem

KINDS = Kinds(links=False, limits=False, fused=True, periods=(Period.FIRMWARE,))
ROUNDING = 1 - 1e-9


def is_below(bound: Figures, figures: Figures) -> bool:
    return (
        bound.latency_s * ROUNDING <= figures.latency_s
        and bound.period_s * ROUNDING <= figures.period_s
        and bound.energy_j * ROUNDING <= figures.energy_j
    )


@pytest.mark.parametrize("seed", range(cases(quick=10, full=40, nightly=2000)))
def test_no_split_is_below(seed: int) -> None:
    problem = replace(random_problem(seed, KINDS), must_use_all=True)
    if seed % 3 == 0:
        problem = replace(problem, frame_period_s=100.0)
    bound = best_case(problem)
    every = list(product(range(len(problem.devices)), repeat=len(problem.layers)))
    count = cases(quick=20, full=40, nightly=256)
    for assignment in Random(seed).sample(every, min(count, len(every))):  # noqa: S311 (no secret)
        found = evaluate(problem, assignment)
        if found.is_feasible and found.period_s:
            assert is_below(bound, Figures(found.i_s, found.period_s, found.energy_j))
            assert is_below(bound, simulated_figures(problem, assignment))


@pytest.mark.parametrize("seed", range(8))
def test_no_copies_are_below(seed: int) -> None:
    problem = replace(random_problem(seed, KINDS), must_use_all=True)
    copies = replicate(replace(problem, must_use_all=False))
    if copies and len(copies.devices) == len(problem.devices):  # which some seeds have
        bound = best_case_of_copies(problem)
        assert bound.fits
        assert is_below(bound, Figures(copies.latency_s, copies.period_s, copies.energy_j))
        assert is_below(bound, simulated_figures(problem, copies.alone[0].assignment, copies.devices))


def test_a_chain_by_hand() -> None:
    # x takes 1 + 4, y takes 2 + 2; a cut takes 0.5. Both run a layer: 1 + 0.5 + 2. Weights of the speeds 1/5 and 1/4 of
    # the devices: (4/9) * 1 + (5/9) * 2 is below the slowest layer.
    layers = (LayerCosts.alike("a", 1, 1, 1, (1.0, 2.0)), LayerCosts.alike("b", 1, 1, 1, (4.0, 2.0)))
    devices = (DeviceLimits("x", 9, 9, 2.0, 1.0, 0.5), DeviceLimits("y", 9, 9, 3.0, 1.0, 0.25))
    cut = ((0.0, 0.5), (0.5, 0.0))
    problem = Problem(
        layers, devices, (cut, cut), Objective.LATENCY, must_use_all=True, period_definition=Period.FIRMWARE
    )
    bound = best_case(problem)
    assert (bound.latency_s, bound.period_s) == (3.5, 2.0)
    assert bound.energy_j == pytest.approx(1.5 * 1 + 2.75 * 2 + 0.75 * 2.0)


def test_branches_may_run_side_by_side() -> None:
    # a and b take 1 at the same time, a cut 0.125, c, which reads both, 0.5.
    branches = [LayerCosts.alike(name, 1, 1, 1, (1.0, 1.0), (-1,)) for name in "ab"]
    layers = (*branches, LayerCosts.alike("c", 1, 1, 1, (0.5, 0.5), (0, 1)))
    devices = (DeviceLimits("x", 9, 9), DeviceLimits("y", 9, 9))
    cut = ((0.0, 0.125), (0.125, 0.0))
    problem = Problem(layers, devices, (cut,) * 3, must_use_all=True, period_definition=Period.FIRMWARE)
    assert best_case(problem).latency_s == simulated_figures(problem, (0, 1, 0)).latency_s == 1.625


def test_what_fits_in_no_way() -> None:
    layer = LayerCosts.alike("a", 8, 1, 1, (1.0,))
    problem = Problem((layer, layer), (DeviceLimits("x", 15, 9),), (((0.0,),),) * 2)
    assert best_case(problem) == NOWHERE
    assert not NOWHERE.fits
    slow = replace(layer, seconds=(inf,))
    assert best_case(replace(problem, layers=(slow, layer))) == NOWHERE
