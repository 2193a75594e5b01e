"""The exact division of one layer against enumeration."""

import random
from dataclasses import replace

import pytest

from divisions.random_divisions import all_divisions, random_division_problem
from session.profiles import cases
from tinysplit.common.errors import CheckFailedError, UsageError
from tinysplit.papers.solvers.geometric.exact import best_division
from tinysplit.papers.solvers.geometric.problem import DivisionDevice

N_PROBLEMS = cases(quick=50, full=1000, nightly=20000)


def test_no_division_is_better() -> None:
    rng = random.Random(1)  # noqa: S311 (no secret)
    n_with_empty_parts = 0
    for _ in range(N_PROBLEMS):
        problem = random_division_problem(rng)
        found = best_division(problem)
        assert sum(found) == problem.layers[0].channels
        assert problem.is_within_limits([found])
        feasible = [parts for parts in all_divisions(problem) if problem.is_within_limits([parts])]
        assert problem.layer_cost(0, found) == pytest.approx(min(problem.layer_cost(0, parts) for parts in feasible))
        n_with_empty_parts += 0 in found
    assert N_PROBLEMS / 10 < n_with_empty_parts < N_PROBLEMS  # no channels are allowed, and not always best


def test_one_device_has_all() -> None:
    problem = random_division_problem(random.Random(2))  # noqa: S311 (no secret)
    layer = replace(problem.layers[0], parts=problem.layers[0].parts[:1])
    assert best_division(replace(problem, devices=problem.devices[:1], layers=(layer,))) == (layer.channels,)


def test_what_has_no_room_is_named() -> None:
    problem = random_division_problem(random.Random(3))  # noqa: S311 (no secret)
    devices = tuple(DivisionDevice(device.name, {"flash": 0}) for device in problem.devices)
    parts = tuple(replace(part, resources=problem.layers[0].parts[-1].resources) for part in problem.layers[0].parts)
    full = replace(problem, devices=devices, layers=(replace(problem.layers[0], parts=parts),))
    with pytest.raises(CheckFailedError, match=r"device0, device1.* have no room for the \d+ channels of conv1"):
        best_division(full)


def test_it_is_for_one_layer() -> None:
    problem = random_division_problem(random.Random(4))  # noqa: S311 (no secret)
    with pytest.raises(UsageError, match="one layer, got 2"):
        best_division(replace(problem, layers=problem.layers * 2))
