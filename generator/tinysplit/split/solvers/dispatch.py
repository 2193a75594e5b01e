"""The solvers by name, and `auto`, which selects one by the size and topology of the problem."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from tinysplit.common.choices import (
    AUTO,
    CHAIN_LABELS,
    DAG_LABELS,
    DEFAULT_TIME_LIMIT_S,
    EXHAUSTIVE,
    HIGHS,
    check_solver,
)
from tinysplit.split.problem import Period, Problem
from tinysplit.split.solution import Split
from tinysplit.split.solvers.chain.search import chain_label_search, has_too_many_powered_sets
from tinysplit.split.solvers.dag.search import dag_label_search
from tinysplit.split.solvers.exhaustive import exhaustive_search
from tinysplit.split.solvers.milp.highs import solve_with_highs

AUTO_EXHAUSTIVE_CANDIDATES = 2**10  # 0.1 s, with a complete proof


class Solver(Protocol):
    """A solver. Raises NoSplitError without a split, and UsageError for problems that it does not support."""

    def __call__(self, problem: Problem, *, time_limit_s: float = ...) -> Split:
        """Return the best split found within `time_limit_s` seconds, proved or with a lower bound."""


_SOLVERS: Mapping[str, Solver] = {
    EXHAUSTIVE: exhaustive_search,
    CHAIN_LABELS: chain_label_search,
    DAG_LABELS: dag_label_search,
    HIGHS: solve_with_highs,
}


def find_split(problem: Problem, solver: str = AUTO, *, time_limit_s: float = DEFAULT_TIME_LIMIT_S) -> Split:
    """Return the best split that the solver of that name finds in `time_limit_s` seconds.

    Raises:
        UsageError: the name is unknown, or the solver does not support the problem.
        NoSplitError: the problem is infeasible, or no split was found in time.
    """
    if check_solver(solver) in _SOLVERS:
        return _SOLVERS[solver](problem, time_limit_s=time_limit_s)
    chosen, why = choose_solver(problem)
    return replace(_SOLVERS[chosen](problem, time_limit_s=time_limit_s), picked_because=f"auto: {why}")


def choose_solver(problem: Problem) -> tuple[str, str]:
    """Return the name of the solver that `auto` selects for `problem`, and why."""
    candidates = f"{len(problem.devices)}^{len(problem.layers)} assignments"
    if problem.n_candidates <= AUTO_EXHAUSTIVE_CANDIDATES:
        return EXHAUSTIVE, f"{candidates} are few enough to evaluate each"
    if not problem.is_chain:
        return DAG_LABELS, f"{candidates} are too many to evaluate each, and the network has branches"
    if problem.asks_for_period and problem.period_definition is not Period.LOAD:
        return DAG_LABELS, f"{candidates} are too many to evaluate each, and the period is {problem.period_definition}"
    if has_too_many_powered_sets(problem):
        return DAG_LABELS, f"{candidates} are too many to evaluate each, and so are the sets of powered boards"
    return CHAIN_LABELS, f"{candidates} are too many to evaluate each"
