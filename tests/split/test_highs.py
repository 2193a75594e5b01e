"""HiGHS against brute force over every kind of problem, and against our search: independent statements of them."""

import os
from dataclasses import replace
from math import isclose, isfinite

import pytest

from milp.highs import solve_with_highs
from session.profiles import cases
from splits.brute_force import BruteForce
from splits.chain_problems import large_chain
from splits.random_problems import Kinds, random_problem
from tinysplit.common.errors import UsageError
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.problem import Objective, Period, Problem
from tinysplit.split.solvers.labels.search import label_search
from tinysplit.split.solvers.no_split import NoSplitError

N_PROBLEMS = cases(quick=30, full=400, nightly=8000)
LINEAR = Kinds(periods=(Period.LOAD,))

LONG_S = 300.0  # far more than a busy machine takes


@pytest.mark.parametrize("block", range(4))
def test_agrees_with_brute_force(block: int) -> None:
    n_feasible = 0
    for seed in range(block, N_PROBLEMS, 4):
        problem = random_problem(seed, LINEAR)
        expected = BruteForce(problem).least()
        n_feasible += isfinite(expected)
        if isfinite(expected):
            _check(problem, expected)
        else:
            with pytest.raises(NoSplitError) as caught:
                solve_with_highs(problem)
            assert caught.value.proved
    assert n_feasible > N_PROBLEMS / 4 * 0.6


def _check(problem: Problem, expected: float) -> None:
    split = solve_with_highs(problem)
    assert evaluate(problem, split.assignment).is_feasible, problem
    assert isclose(split.objective, expected, rel_tol=1e-9, abs_tol=1e-12), problem
    assert split.lower_bound <= expected * (1 + 1e-9) + 1e-12, problem
    assert split.gap < 1e-6, problem  # rows may be broken by 1e-9, and what follows from that is more


def test_periods_that_are_not_linear_are_refused_where_they_count() -> None:
    problem = replace(large_chain(6, 2, 0), period_definition=Period.SPAN)
    assert solve_with_highs(problem).proved
    for asking in (replace(problem, objective=Objective.THROUGHPUT), replace(problem, max_period_s=1.0)):
        with pytest.raises(UsageError, match="HiGHS does not support the period span"):
            solve_with_highs(asking)


def test_agrees_with_the_search_on_thirty_layers() -> None:
    problem = large_chain(30, 3, 1)
    found = solve_with_highs(problem, time_limit_s=LONG_S)
    assert isclose(found.objective, label_search(problem, time_limit_s=LONG_S).objective, rel_tol=1e-9)


def test_nothing_found_in_time_is_not_called_infeasible() -> None:
    with pytest.raises(NoSplitError) as caught:
        solve_with_highs(replace(large_chain(200, 4, 1), objective=Objective.THROUGHPUT), time_limit_s=0.001)
    assert not caught.value.proved


def test_what_highs_prints_does_not_reach_stdout(capfd: pytest.CaptureFixture[str]) -> None:
    problem = random_problem(24, LINEAR)  # one of those where it prints debugging output
    assert isclose(solve_with_highs(problem).objective, BruteForce(problem).least(), rel_tol=1e-9)
    os.write(1, b"visible\n")
    assert capfd.readouterr().out == "visible\n"
