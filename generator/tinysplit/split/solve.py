"""The solvers by name, and `auto`, which picks one, and has HiGHS beside it where one alone takes long."""

from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter
from typing import Protocol

from tinysplit.common.errors import CheckFailedError, UsageError
from tinysplit.reproduce.adaptive_dichotomic import adaptive_dichotomic_search
from tinysplit.reproduce.algorithm_1 import algorithm_1_least_repair
from tinysplit.reproduce.branch_and_bound import branch_and_bound, branch_and_bound_as_published
from tinysplit.reproduce.dichotomic import dichotomic_search
from tinysplit.reproduce.stage_dp import stage_search
from tinysplit.split.explain.infeasible import InfeasibleError, explain_timeout
from tinysplit.split.problem import Period, Problem
from tinysplit.split.solution import DEFAULT_TIME_LIMIT_S, Split
from tinysplit.split.solvers.chain.search import has_too_many_sets, label_search
from tinysplit.split.solvers.dag.search import graph_search
from tinysplit.split.solvers.enumerate import full_search
from tinysplit.split.solvers.milp.milp import check_linear
from tinysplit.split.solvers.milp.objectives import is_linear
from tinysplit.split.solvers.race import best_of, race

AUTO, HIGHS = "auto", "highs"
AUTO_FULL_SEARCH_CANDIDATES = 2**10  # a tenth of a second, and the proof is plain
# Of the time, that a search has before HiGHS runs beside it: of latency HiGHS proves some that the search does not; of
# the period the search proves more, and every start costs it time.
ALONE_SHARE, ALONE_SHARE_OF_LATENCY = 0.5, 0.2
LEAST_RACE_S = 4.0  # processes take a second to begin
MAX_PROGRAM_SIZE = 100_000  # layers times devices squared: HiGHS finds nothing in time for more


class Solver(Protocol):
    """A function from problem to split; CheckFailedError where there is none."""

    def __call__(self, problem: Problem, *, time_limit_s: float = ...) -> Split:
        """Return the best split, proved within `time_limit_s` or with its gap."""


def _highs(problem: Problem, *, time_limit_s: float = DEFAULT_TIME_LIMIT_S) -> Split:
    """Return what `milp` does in a process of its own: HiGHS prints lines of debugging."""
    check_linear(problem)
    found = race(problem, (HIGHS,), time_limit_s=time_limit_s)
    if not found:
        raise explain_timeout(problem, time_limit_s)
    return found[0]


SOLVERS: Mapping[str, Solver] = {
    "full": full_search,
    "branch-and-bound": branch_and_bound,
    "labels": label_search,
    "dichotomic": dichotomic_search,
    "adaptive-dichotomic": adaptive_dichotomic_search,
    "stages": stage_search,
    "graph": graph_search,
    HIGHS: _highs,
    "branch-and-bound-published": branch_and_bound_as_published,  # this and the next one are kept for comparison
    "algorithm-1": algorithm_1_least_repair,
}


def solve(problem: Problem, solver: str = AUTO, *, time_limit_s: float = DEFAULT_TIME_LIMIT_S) -> Split:
    """Solve `problem` with the solver of that name; UsageError for an unknown one."""
    if solver in SOLVERS:
        return SOLVERS[solver](problem, time_limit_s=time_limit_s)
    if solver != AUTO:
        raise UsageError(f"unknown solver {solver!r}: take one of {', '.join((AUTO, *SOLVERS))}")
    picked, why = _pick(problem)
    if not _can_race(problem, time_limit_s):
        return replace(SOLVERS[picked](problem, time_limit_s=time_limit_s), picked_because=f"auto: {why}")
    start = perf_counter()
    share = ALONE_SHARE if problem.asks_for_period else ALONE_SHARE_OF_LATENCY
    found = [split] if (split := _try(picked, problem, share * time_limit_s)) else []
    if not (found and found[0].proved):
        why = f"{why}; {picked} alone did not prove its split, so HiGHS looked beside it"
        found = race(problem, (picked, HIGHS), found, time_limit_s=time_limit_s - (perf_counter() - start))
    if not found:
        raise explain_timeout(problem, time_limit_s)
    return replace(best_of(found), spent_s=perf_counter() - start, picked_because=f"auto: {why}")


def _pick(problem: Problem) -> tuple[str, str]:
    """Return the search for `problem`, and why."""
    candidates = f"{len(problem.devices)}^{len(problem.layers)} candidates are"
    if problem.n_candidates <= AUTO_FULL_SEARCH_CANDIDATES:
        return "full", f"{candidates} few enough to look at each"
    if not problem.is_chain:
        return "graph", f"{candidates} too many to look at, and layers have branches"
    is_load = problem.period_definition is Period.LOAD or not problem.asks_for_period
    if has_too_many_sets(problem):
        return "branch-and-bound", f"{candidates} too many to look at, sets of powered boards as well"
    return "labels" if is_load else "branch-and-bound", f"{candidates} too many to look at"


def _can_race(problem: Problem, time_limit_s: float) -> bool:
    size = len(problem.layers) * len(problem.devices) ** 2
    return is_linear(problem) and size <= MAX_PROGRAM_SIZE and time_limit_s >= LEAST_RACE_S


def _try(solver: str, problem: Problem, time_limit_s: float) -> Split | None:
    """Return what `solver` finds, None for nothing in time; InfeasibleError where there is nothing."""
    try:
        return SOLVERS[solver](problem, time_limit_s=time_limit_s)
    except InfeasibleError:
        raise
    except CheckFailedError:
        return None
