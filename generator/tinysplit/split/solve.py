"""Solves a splitting problem, and explains why a problem is infeasible."""

from tinysplit.common.choices import AUTO, DEFAULT_TIME_LIMIT_S, check_solver
from tinysplit.split.explain.infeasible import explain
from tinysplit.split.problem import Problem
from tinysplit.split.solution import Split
from tinysplit.split.solvers.labels.search import label_search
from tinysplit.split.solvers.no_split import NoSplitError


def solve(problem: Problem, solver: str = AUTO, *, time_limit_s: float = DEFAULT_TIME_LIMIT_S) -> Split:
    """Return the best split that is found in `time_limit_s` seconds.

    Raises:
        UsageError: there is no solver of that name.
        InfeasibleError: the problem is infeasible; the message names the constraint that is violated.
        CheckFailedError: no split was found in time.
    """
    check_solver(solver)
    try:
        return label_search(problem, time_limit_s=time_limit_s)
    except NoSplitError as error:
        raise explain(problem, proved=error.proved, time_limit_s=time_limit_s) from None
