"""Figures and feasibility of every assignment of random problems against the brute force's."""

from dataclasses import replace
from itertools import product
from math import isclose, isfinite

import pytest

from session.profiles import cases
from splits.brute_force import BruteForce
from splits.random_problems import ALL_KINDS, random_problem
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.problem import Problem

N_PROBLEMS = cases(quick=24, full=160, nightly=1600)


def check(problem: Problem, seed: int) -> int:
    """Compare all assignments; return how many are feasible."""
    oracle, n_feasible = BruteForce(problem), 0
    for assignment in product(range(len(problem.devices)), repeat=len(problem.layers)):
        found, figures = oracle.outcome(assignment), evaluate(problem, assignment)
        assert figures.flash_bytes == found.flash_bytes, (seed, assignment)
        if not isfinite(found.latency_s):
            assert not figures.is_feasible, (seed, assignment)
            continue
        assert figures.ram_bytes == found.ram_bytes, (seed, assignment)
        assert isclose(figures.i_s, found.latency_s, rel_tol=1e-12, abs_tol=1e-12), (seed, assignment)
        assert isclose(figures.period_s, found.period_s, rel_tol=1e-11, abs_tol=1e-12), (seed, assignment)
        assert isclose(figures.energy_j, found.energy_j, rel_tol=1e-9, abs_tol=1e-12), (seed, assignment)
        assert figures.is_feasible == oracle.is_feasible(assignment), (seed, assignment)
        n_feasible += figures.is_feasible
    return n_feasible


@pytest.mark.parametrize("block", range(4))
def test_figures_agree_with_brute_force(block: int) -> None:
    feasible = [
        check(random_problem(seed, replace(ALL_KINDS, fused=seed % 2 == 0)), seed)
        for seed in range(block, N_PROBLEMS, 4)
    ]
    assert sum(map(bool, feasible)) > len(feasible) * 0.6
