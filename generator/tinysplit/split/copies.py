"""Copies of the whole network in place of one pipeline: where they are better, or where they are asked for."""

from collections.abc import Callable
from dataclasses import replace
from math import isfinite

from tinysplit.common.choices import Copies
from tinysplit.common.errors import CheckFailedError
from tinysplit.settings.boards_and_links import USE_ALL
from tinysplit.settings.search import REPLICATE
from tinysplit.split import clock
from tinysplit.split.evaluate.replication import CopiesEvaluation, Replication, replicate
from tinysplit.split.explain.infeasible import InfeasibleError
from tinysplit.split.problem import Objective, Problem, is_better, within
from tinysplit.split.solution import Split

Solve = Callable[[Problem, float], Split]


def solve_with_copies(problem: Problem, solve: Solve, time_limit_s: float, copies: Copies) -> Split:
    """Return the best split, or copies of the whole network on all boards that have the memory.

    `solve` takes a problem and a time limit in seconds. Where every board must run a layer of one pipeline, copies are
    not considered unless they are asked for.

    Raises:
        InfeasibleError: neither a split nor copies are feasible.
        CheckFailedError: no split was found in time, or copies were asked for and are not feasible.
    """
    if copies is Copies.NEVER or (copies is Copies.IF_BETTER and problem.must_use_all):
        return solve(problem, time_limit_s)
    start = clock.now()
    found = _feasible(problem)
    if copies is Copies.ALWAYS:
        if found is None:
            raise CheckFailedError(f"no replication is feasible: {_why_not(problem)}: omit {REPLICATE(True)}")
        return _split(found, found.value, 1, clock.now() - start)
    if problem.objective is Objective.LATENCY or found is None or len(found.devices) == 1:
        return solve(problem, time_limit_s)
    try:
        split = solve(problem, time_limit_s)
    except InfeasibleError:
        return _split(found, found.value, 1, clock.now() - start)
    if not is_better(found.value, split.objective):
        return split
    bound = min(split.lower_bound, found.value)
    return replace(
        _split(found, bound, split.explored + 1, split.spent_s), picked_because="better than any split found"
    )


def _feasible(problem: Problem) -> Replication | None:
    """Return the copies on all boards that have the memory, None if they break a limit or leave out a board."""
    found = replicate(problem)
    if found is None or not within(found.period_s, problem.longest_period_s):
        return None
    return None if problem.must_use_all and len(found.devices) < len(problem.devices) else found


def _why_not(problem: Problem) -> str:
    free = replicate(problem.without_limits())
    if free is None:
        return "no board has the memory for the whole network"
    if problem.must_use_all and len(free.devices) < len(problem.devices):
        return f"a board lacks the memory for the whole network, and {USE_ALL(True)} asks for all"
    limits = (
        (problem.max_latency_s, f"latency {free.latency_s:.4g} s"),
        (problem.longest_period_s, f"period {free.period_s:.4g} s"),
        (problem.max_energy_j, f"energy {free.energy_j:.4g} J"),
    )
    reached = ", ".join(text for limit, text in limits if isfinite(limit))
    return f"without limits its figures are {reached}"


def _split(found: Replication, bound: float, explored: int, spent_s: float) -> Split:
    return Split(
        problem=found.problem,
        assignment=CopiesEvaluation.of(found).assignment,
        lower_bound=bound,
        explored=explored,
        solver="copies",
        spent_s=spent_s,
        copies=found.devices,
    )
