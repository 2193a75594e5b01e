"""To minimise RAM, the largest arena is as small as in any split by enumeration, and the best such split is taken."""

from dataclasses import replace
from itertools import product
from math import isclose

import pytest

from session.profiles import cases
from splits.random_problems import Kinds, random_problem
from tinysplit.common.choices import AUTO
from tinysplit.common.errors import CheckFailedError
from tinysplit.split.evaluate.evaluation import Evaluation, evaluate
from tinysplit.split.link_limits import solve_within_links
from tinysplit.split.problem import Problem

N_PROBLEMS = cases(quick=60, full=300, nightly=3000)
KINDS = (Kinds(links=False, fused=True, host=False), Kinds(links=True, fused=True, host=False))


def feasible(problem: Problem) -> list[Evaluation]:
    every = product(range(len(problem.devices)), repeat=len(problem.layers))
    return [found for assignment in every if (found := evaluate(problem, assignment)).is_feasible]


def test_no_split_has_a_smaller_largest_arena() -> None:
    n_feasible = n_smaller = 0
    for seed in range(N_PROBLEMS):
        problem = replace(random_problem(50_000 + seed, KINDS[seed % 2]), minimises_ram=True)
        n_links = [len(problem.devices) - 1] * len(problem.devices)
        every = feasible(problem)
        if not every:
            with pytest.raises(CheckFailedError):
                solve_within_links(problem, n_links, AUTO)
            continue
        n_feasible += 1
        found = solve_within_links(problem, n_links, AUTO)
        least_bytes = min(max(each.ram_bytes) for each in every)
        assert max(found.figures.ram_bytes) == least_bytes, seed
        best = min(each.value for each in every if max(each.ram_bytes) == least_bytes)
        assert isclose(found.objective, best, rel_tol=1e-9), seed
        assert found.proved, seed
        fastest = min(every, key=lambda each: each.value)
        n_smaller += max(fastest.ram_bytes) > least_bytes
    assert n_feasible > 0.5 * N_PROBLEMS
    assert n_smaller > 0.05 * N_PROBLEMS
