"""Full search and the search through a frontier against brute force: branches, every objective, link and limit."""

from collections.abc import Callable
from dataclasses import replace
from math import isclose, isfinite

import pytest

from brute_force import BruteForce
from random_problems import random_problem
from tinysplit.errors import CheckFailedError
from tinysplit.split.floors import floor_value
from tinysplit.split.full_search import full_search
from tinysplit.split.graph_search import graph_search
from tinysplit.split.problem import Problem
from tinysplit.split.split import Split

N_PROBLEMS = 2000
Search = Callable[[Problem], Split]


def check(problem: Problem, expected: float, search: Search) -> None:
    if not isfinite(expected):
        with pytest.raises(CheckFailedError):
            search(problem)
        return
    split = search(problem)
    assert isclose(split.objective, expected, rel_tol=1e-9, abs_tol=1e-12), split
    assert split.proved
    assert problem.is_feasible(split.assignment)


@pytest.mark.parametrize("block", range(8))
def test_exact_searches_agree_with_brute_force(block: int) -> None:
    n_feasible = 0
    for seed in range(block, N_PROBLEMS, 8):
        problem = random_problem(seed)
        expected = BruteForce(problem).least()
        n_feasible += isfinite(expected)
        assert floor_value(problem) <= expected * (1 + 1e-9), seed
        for search in (full_search, graph_search):
            check(problem, expected, search)
    assert n_feasible > N_PROBLEMS / 8 * 0.8  # the others are infeasible for all


@pytest.mark.parametrize("search", [full_search, graph_search])
def test_an_interrupted_search_has_a_true_bound(search: Callable[..., Split]) -> None:
    for seed in range(150):
        problem = replace(random_problem(seed), must_use_all=False)
        expected = BruteForce(problem).least()
        try:
            split = search(problem, time_limit_s=0)
        except CheckFailedError:
            continue
        assert split.lower_bound <= expected * (1 + 1e-9) <= split.objective * (1 + 2e-9), seed
        assert split.gap == pytest.approx(max(0.0, 1 - split.lower_bound / split.objective) if split.objective else 0.0)
