"""The solvers by name, and `auto`, which picks one."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from tinysplit.errors import UsageError
from tinysplit.split.adaptive_dichotomic import adaptive_dichotomic_search
from tinysplit.split.branch_and_bound import branch_and_bound
from tinysplit.split.dichotomic import dichotomic_search
from tinysplit.split.full_search import full_search
from tinysplit.split.label_search import label_search
from tinysplit.split.problem import Problem
from tinysplit.split.split import DEFAULT_TIME_LIMIT_S, Split
from tinysplit.split.stage_dp import stage_search

AUTO = "auto"
AUTO_FULL_SEARCH_CANDIDATES = 2**16  # milliseconds, and the proof is plain


class Solver(Protocol):
    """A function from problem to split; CheckFailedError where there is none."""

    def __call__(self, problem: Problem, *, time_limit_s: float = ...) -> Split:
        """Return the best split, proved within `time_limit_s` or with its gap."""


SOLVERS: Mapping[str, Solver] = {
    "full": full_search,
    "branch-and-bound": branch_and_bound,
    "labels": label_search,
    "dichotomic": dichotomic_search,
    "adaptive-dichotomic": adaptive_dichotomic_search,
    "stages": stage_search,
}


def solve(problem: Problem, solver: str = AUTO, *, time_limit_s: float = DEFAULT_TIME_LIMIT_S) -> Split:
    """Solve `problem` with the solver of that name; UsageError for an unknown one."""
    if solver in SOLVERS:
        return SOLVERS[solver](problem, time_limit_s=time_limit_s)
    if solver != AUTO:
        raise UsageError(f"unknown solver {solver!r}: take one of {', '.join((AUTO, *SOLVERS))}")
    n_layers, n_devices = len(problem.layers), len(problem.devices)
    few = problem.n_candidates <= AUTO_FULL_SEARCH_CANDIDATES
    asks_for_more = problem.asks_for_period or problem.is_limited
    picked = "full" if few else "branch-and-bound" if asks_for_more else "labels"
    split = SOLVERS[picked](problem, time_limit_s=time_limit_s)
    reason = (
        f"auto: {n_devices}^{n_layers} candidates are {'few enough to look at each' if few else 'too many to look at'}"
    )
    return replace(split, picked_because=reason)
