"""The solvers by name, and `auto`, which selects one by the size and topology of the problem."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Protocol

from tinysplit.common.errors import UsageError
from tinysplit.split.problem import Period, Problem
from tinysplit.split.solution import DEFAULT_TIME_LIMIT_S, Split
from tinysplit.split.solvers.chain.search import chain_label_search, has_too_many_powered_sets
from tinysplit.split.solvers.dag.search import dag_label_search
from tinysplit.split.solvers.exhaustive import exhaustive_search
from tinysplit.split.solvers.milp.highs import solve_with_highs

AUTO, EXHAUSTIVE, CHAIN_LABELS, DAG_LABELS, HIGHS = "auto", "exhaustive", "chain-labels", "dag-labels", "highs"
AUTO_EXHAUSTIVE_CANDIDATES = 2**10  # 0.1 s, with a complete proof


class Solver(Protocol):
    """A solver. Raises NoSplitError without a split, and UsageError for problems that it does not support."""

    def __call__(self, problem: Problem, *, time_limit_s: float = ...) -> Split:
        """Return the best split found within `time_limit_s` seconds, proved or with a lower bound."""


SOLVERS: Mapping[str, Solver] = {
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
    if check_solver(solver) in SOLVERS:
        return SOLVERS[solver](problem, time_limit_s=time_limit_s)
    chosen, why = choose_solver(problem)
    return replace(SOLVERS[chosen](problem, time_limit_s=time_limit_s), picked_because=f"auto: {why}")


def check_solver(name: str, others: Iterable[str] = ()) -> str:
    """Return `name`. Raises UsageError unless it is a solver, `auto` or one of the `others`."""
    names = (AUTO, *SOLVERS, *others)
    if name not in names:
        raise UsageError(f"unknown solver {name!r}: use one of {', '.join(names)}")
    return name


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
