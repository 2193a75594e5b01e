"""Figures and feasibility of every assignment of random problems against the brute force's."""

from itertools import product
from math import isclose, isfinite

import pytest

from brute_force import BruteForce
from profiles import cases
from random_problems import random_problem
from tinysplit.split.problem import Problem

N_PROBLEMS = cases(quick=24, full=160, nightly=1600)


def check(problem: Problem, seed: int) -> int:
    """Compare all assignments; return how many are feasible."""
    oracle, n_feasible = BruteForce(problem), 0
    for assignment in product(range(len(problem.devices)), repeat=len(problem.layers)):
        found, figures = oracle.outcome(assignment), problem.figures(assignment)
        assert figures.flash_bytes == found.flash_bytes, (seed, assignment)
        if not isfinite(found.latency_s):
            assert not problem.is_feasible(assignment), (seed, assignment)
            continue
        assert figures.ram_bytes == found.ram_bytes, (seed, assignment)
        assert isclose(figures.i_s, found.latency_s, rel_tol=1e-12, abs_tol=1e-12), (seed, assignment)
        assert isclose(problem.period_s(assignment), found.period_s, rel_tol=1e-12, abs_tol=1e-12), (seed, assignment)
        assert isclose(problem.energy_j(assignment), found.energy_j, rel_tol=1e-9, abs_tol=1e-12), (seed, assignment)
        assert problem.is_feasible(assignment) == oracle.is_feasible(assignment), (seed, assignment)
        n_feasible += problem.is_feasible(assignment)
    return n_feasible


@pytest.mark.parametrize("block", range(4))
def test_figures_agree_with_brute_force(block: int) -> None:
    feasible = [check(random_problem(seed), seed) for seed in range(block, N_PROBLEMS, 4)]
    assert sum(map(bool, feasible)) > len(feasible) * 0.6
