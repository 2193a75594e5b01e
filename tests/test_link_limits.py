import random
from itertools import product
from math import inf

import pytest

from tinysplit.errors import CheckFailedError
from tinysplit.split.link_limits import solve_within_links
from tinysplit.split.problem import DeviceLimits, LayerCosts, Problem, crossings


def random_problem(rng: random.Random) -> Problem:
    n_layers, n_devices = rng.randint(3, 6), rng.randint(2, 4)
    layers = tuple(
        LayerCosts(f"layer{i}", rng.randint(1, 4), 1, 1, tuple(rng.uniform(0.1, 3) for _ in range(n_devices)))
        for i in range(n_layers)
    )
    devices = tuple(DeviceLimits(f"d{i}", rng.randint(3, 8), 9) for i in range(n_devices))
    transfers = tuple(
        tuple(tuple(0.0 if a == b else rng.uniform(0.01, 1) for b in range(n_devices)) for a in range(n_devices))
        for _ in layers
    )
    return Problem(layers, devices, transfers, must_use_all=rng.random() < 0.5)


def keeps_limits(assignment: tuple[int, ...], counts: list[int]) -> bool:
    pairs = {frozenset((a, b)) for _, a, b in crossings(assignment)}
    return all(sum(device in pair for pair in pairs) <= count for device, count in enumerate(counts))


def brute_force(problem: Problem, counts: list[int]) -> float:
    devices = range(len(problem.devices))
    return min(
        (
            problem.value(assignment)
            for assignment in product(devices, repeat=len(problem.layers))
            if problem.is_feasible(assignment) and keeps_limits(assignment, counts)
        ),
        default=inf,
    )


@pytest.mark.parametrize("seed", range(120))
def test_the_best_split_within_the_links_is_found(seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311 - a test, no secret
    problem = random_problem(rng)
    counts = [rng.randint(1, 2) for _ in problem.devices]
    best = brute_force(problem, counts)
    if best == inf:
        with pytest.raises(CheckFailedError):
            solve_within_links(problem, counts, "auto")
        return
    split = solve_within_links(problem, counts, "auto")
    assert keeps_limits(split.assignment, counts)
    assert split.objective == pytest.approx(best)
    assert split.proved
