"""HiGHS against brute force over every kind of problem, and against our search: independent statements of them."""

from dataclasses import replace
from math import isclose, isfinite

import pytest

from brute_force import BruteForce
from chain_problems import large_problem
from profiles import cases
from random_problems import Kinds, random_problem
from tinysplit.common.errors import CheckFailedError, UsageError
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.problem import Objective, Period, Problem
from tinysplit.split.solvers.chain.search import label_search
from tinysplit.split.solvers.milp import milp as module
from tinysplit.split.solvers.milp.milp import milp

N_INSTANCES = cases(quick=40, full=300, nightly=6000)
LINEAR = Kinds(periods=(Period.LOAD,))


@pytest.mark.parametrize("block", range(4))
def test_agrees_with_brute_force(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "explain", lambda _: CheckFailedError("searched, and nothing fits"))
    n_feasible = 0
    for seed in range(block, N_INSTANCES, 4):
        problem = random_problem(seed, LINEAR)
        expected = BruteForce(problem).least()
        n_feasible += isfinite(expected)
        if isfinite(expected):
            _check(problem, expected)
        else:
            with pytest.raises(CheckFailedError):
                milp(problem)
    assert n_feasible > N_INSTANCES / 4 * 0.4


def _check(problem: Problem, expected: float) -> None:
    split = milp(problem)
    assert evaluate(problem, split.assignment).is_feasible, problem
    assert isclose(split.objective, expected, rel_tol=1e-9, abs_tol=1e-12), problem
    assert split.lower_bound <= expected * (1 + 1e-9) + 1e-12, problem
    assert split.gap < 1e-6, problem  # rows may be broken by 1e-9, and what follows from that is more


def test_periods_that_are_not_linear_are_refused_where_they_count() -> None:
    problem = replace(large_problem(6, 2, 0), period_definition=Period.SPAN)
    assert milp(problem).proved
    for asking in (replace(problem, objective=Objective.THROUGHPUT), replace(problem, max_period_s=1.0)):
        with pytest.raises(UsageError, match="--solver highs knows no span period"):
            milp(asking)


@pytest.mark.slow
def test_agrees_with_the_search_on_thirty_layers() -> None:
    problem = large_problem(30, 3, 1)
    assert isclose(milp(problem).objective, label_search(problem).objective, rel_tol=1e-9)


def test_nothing_found_in_time_is_said() -> None:
    with pytest.raises(CheckFailedError, match=r"found in 0\.001 s"):
        milp(replace(large_problem(200, 4, 1), objective=Objective.THROUGHPUT), time_limit_s=0.001)


@pytest.mark.slow
@pytest.mark.parametrize("objective", Objective)
def test_nothing_worse_than_what_is_known(objective: Objective) -> None:
    problem = large_problem(20, 3, 1)
    devices = tuple(replace(device, run_w=2.0, transfer_w=1.0, idle_w=0.5) for device in problem.devices)
    problem = replace(problem, objective=objective, devices=devices)
    best = milp(problem)
    again = milp(problem, known=best.assignment)
    assert isclose(again.objective, best.objective, rel_tol=1e-9)
    assert again.gap < 1e-6
    in_no_time = milp(problem, time_limit_s=0.001, known=best.assignment)
    assert in_no_time.assignment == best.assignment
    assert 0 <= in_no_time.lower_bound <= best.objective
