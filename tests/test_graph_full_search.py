"""Full search of networks with branches, energy, and links of every kind, against brute force."""

from dataclasses import replace
from math import isclose, isfinite

import pytest

from brute_force import BruteForce
from random_problems import random_problem
from tinysplit.errors import CheckFailedError
from tinysplit.split.floors import floor_value
from tinysplit.split.full_search import full_search

N_PROBLEMS = 400


@pytest.mark.parametrize("block", range(4))
def test_agrees_with_brute_force(block: int) -> None:
    for seed in range(block, N_PROBLEMS, 4):
        problem = random_problem(seed)
        expected = BruteForce(problem).least()
        if not isfinite(expected):
            with pytest.raises(CheckFailedError):
                full_search(problem)
            continue
        split = full_search(problem)
        assert isclose(split.objective, expected, rel_tol=1e-9, abs_tol=1e-12), (seed, split)
        assert split.proved, seed
        assert problem.is_feasible(split.assignment), seed
        assert floor_value(problem) <= expected * (1 + 1e-9), seed


def test_an_interrupted_search_has_a_true_bound() -> None:
    n_open = 0
    for seed in range(100):
        problem = replace(random_problem(seed), must_use_all=False)
        expected = BruteForce(problem).least()
        try:
            split = full_search(problem, time_limit_s=0)
        except CheckFailedError:
            continue
        n_open += not split.proved
        assert split.lower_bound <= expected * (1 + 1e-9) <= split.objective * (1 + 2e-9), seed
    assert n_open > 10
