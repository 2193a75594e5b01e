"""Layers that fit a board only fused: searched joined, or elsewhere alone, and never promised where they do not fit."""

from dataclasses import replace

import pytest

from splits.brute_force import BruteForce
from splits.chain_problems import equal_links
from tinysplit.split.explain.infeasible import InfeasibleError
from tinysplit.split.problem import DeviceLimits, FusedLayers, LayerCosts, Problem
from tinysplit.split.solve import solve

ROOM = 100  # bytes that nothing exceeds
SMALL, LARGE = DeviceLimits("small", ROOM, 10), DeviceLimits("large", ROOM, ROOM)


def chain(*seconds: tuple[float, float], devices: tuple[DeviceLimits, ...] = (SMALL, LARGE)) -> Problem:
    """Layers that take 20 bytes of RAM alone."""
    layers = tuple(LayerCosts.alike(f"l{k}", 1, 20, 4, own) for k, own in enumerate(seconds))
    return Problem(layers, devices, equal_links(layers, len(devices), 0.01))


def fused(producer: int, ram_bytes: int = 8) -> FusedLayers:
    return FusedLayers(producer, (ram_bytes,) * 2, (ram_bytes,) * 2)


def test_a_pair_that_needs_its_neighbour_stays_together() -> None:
    problem = replace(chain((1.0, 10.0), (9.0, 1.0)), fused=(fused(0),))
    split = solve(problem)
    assert (split.assignment, split.objective, split.proved) == ((0, 0), 10.0, True)


def test_the_larger_board_takes_both_where_that_is_faster() -> None:
    split = solve(replace(chain((1.0, 5.0), (9.0, 1.0)), fused=(fused(0),)))
    assert (split.assignment, split.objective, split.proved) == ((1, 1), 6.0, True)


def test_each_pair_has_its_own_choice() -> None:
    problem = chain((1.0, 10.0), (9.0, 1.0), (1.0, 4.0), (9.0, 1.0))
    split = solve(replace(problem, fused=(fused(0), fused(2))))
    assert split.assignment == (0, 0, 1, 1)
    assert split.objective == pytest.approx(BruteForce(split.problem).least())
    assert split.proved


def test_no_pair_is_larger_than_its_layers_alone() -> None:
    split = solve(replace(chain((1.0, 10.0), (9.0, 1.0)), fused=(fused(0, 30),)))
    assert split.assignment == (1, 1)
    assert split.figures.ram_bytes == (0, 20)


def test_without_room_for_the_pair_there_is_no_split() -> None:
    problem = chain((1.0, 1.0), (1.0, 1.0), devices=(SMALL, SMALL))
    with pytest.raises(InfeasibleError, match=r"needs 12 bytes of RAM; the smallest shortfall is 2 bytes"):
        solve(replace(problem, fused=(fused(0, 12),)))
