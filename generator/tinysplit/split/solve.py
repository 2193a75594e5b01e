"""Solves a splitting problem, and explains why a problem is infeasible."""

from tinysplit.common.choices import AUTO, DEFAULT_TIME_LIMIT_S, check_solver
from tinysplit.split import clock
from tinysplit.split.explain.infeasible import explain
from tinysplit.split.fused_layers import find_fused
from tinysplit.split.linked_memory import best_alone, better, find_linked
from tinysplit.split.problem import Problem
from tinysplit.split.solution import Split
from tinysplit.split.solvers.labels.search import label_search
from tinysplit.split.solvers.no_split import NoSplitError

LEAST_LIMIT_S = 0.01  # for a search that begins at the end of the time


def solve(problem: Problem, solver: str = AUTO, *, time_limit_s: float = DEFAULT_TIME_LIMIT_S) -> Split:
    """Return the best split that the solver of that name finds in `time_limit_s` seconds.

    Raises:
        UsageError: there is no solver of that name, or it does not know such problems.
        InfeasibleError: the problem is infeasible; the message names the constraint that is violated.
        CheckFailedError: no split was found in time.
    """
    check_solver(solver)
    alone = best_alone(problem)
    deadline = clock.now() + time_limit_s

    def find(unfused: Problem) -> Split:
        left_s = max(deadline - clock.now(), LEAST_LIMIT_S)
        return find_linked(unfused, lambda each: label_search(each, time_limit_s=left_s))

    try:
        found = find_fused(problem, find, deadline)
    except NoSplitError as error:
        if alone is None:
            raise explain(problem, proved=error.proved, time_limit_s=time_limit_s) from None
        return alone
    return found if alone is None else better(found, alone)
