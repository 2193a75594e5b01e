"""Copies of the whole network in place of one pipeline: where they are better, or where they are asked for."""

from collections.abc import Callable
from dataclasses import replace
from math import inf, isfinite
from operator import mul

from tinysplit.common.choices import Copies
from tinysplit.common.errors import CheckFailedError
from tinysplit.settings.boards_and_links import USE_ALL
from tinysplit.settings.search import REPLICATE
from tinysplit.split import clock
from tinysplit.split.evaluate.replication import CopiesEvaluation, Replication, best_replication, replicate
from tinysplit.split.explain.infeasible import InfeasibleError
from tinysplit.split.least_arena import most_ram_bytes
from tinysplit.split.least_costs import with_least_of_all
from tinysplit.split.problem import Objective, Problem, is_better
from tinysplit.split.solution import Split
from tinysplit.split.solvers.lower_bound import lower_bound_without_transfers

FEWEST_BESIDE_COPIES = 3  # boards of a pipeline of two, and a copy
FEWEST_PIPELINES = 4  # boards of two pipelines

Solve = Callable[[Problem, float], Split]


def solve_with_copies(problem: Problem, solve: Solve, time_limit_s: float, copies: Copies) -> Split:
    """Return the best split, or copies of the whole network on the best set of boards.

    `solve` takes a problem and a time limit in seconds. Where every board must run a layer of one pipeline, copies are
    not considered unless they are asked for: then they are on all boards that have the memory, if the limits allow it.

    Raises:
        InfeasibleError: neither a split nor copies are feasible.
        CheckFailedError: no split was found in time, or copies were asked for and are not feasible.
    """
    if copies is Copies.NEVER or (copies is Copies.IF_BETTER and problem.must_use_all):
        return solve(problem, time_limit_s)
    start = clock.now()
    if copies is Copies.ALWAYS:
        found = replicate(problem) or best_replication(problem)
        if found is None:
            raise CheckFailedError(f"no replication is feasible: {_why_not(problem)}: omit {REPLICATE(True)}")
        return _split(found, found.value, 1, clock.now() - start)
    found = best_replication(problem, fewest=2)
    others = bound_of_others(problem, has_copies=found is not None)
    try:
        split = solve(problem, time_limit_s)
    except InfeasibleError:
        if found is None:
            raise
        return _split(found, min(found.value, others), 1, clock.now() - start)
    if found is None or not is_better(found.value, split.objective) or _takes_more_ram(found, split):
        return replace(split, lower_bound=min(split.lower_bound, others))
    bound = min(split.lower_bound, found.value, others)
    return replace(
        _split(found, bound, split.explored + 1, split.spent_s), picked_because="better than any split found"
    )


def _takes_more_ram(found: Replication, split: Split) -> bool:
    """Return whether copies take more RAM than a split, and that counts."""
    return split.problem.minimises_ram and max(CopiesEvaluation.of(found).ram_bytes) > most_ram_bytes(split)


def may_help(problem: Problem) -> bool:
    """Return whether copies on several boards may be better than the best of them alone."""
    return problem.objective is Objective.THROUGHPUT or isfinite(problem.longest_period_s)


def bound_of_others(problem: Problem, *, has_copies: bool) -> float:
    """Return a bound of what is not searched: several pipelines, or pipelines of some boards beside copies on others.

    It is infinite where there are too few boards, or where one pipeline is the best of them, as for latency alone.
    Every inference takes its layers' shares of the boards' time, so that of a set of prices of that time the least cost
    of an inference bounds its rate, as in a linear program; here a board's price is its speed with the whole network.
    """
    if problem.keeps_state:
        return inf
    is_latency_alone = problem.objective is Objective.LATENCY and not problem.asks_for_period
    if len(problem.devices) < (FEWEST_BESIDE_COPIES if has_copies else FEWEST_PIPELINES) or is_latency_alone:
        return inf
    least = with_least_of_all(problem)
    seconds = [layer.seconds for layer in least.layers]
    speeds = [1 / whole_s if whole_s else inf for whole_s in map(sum, zip(*seconds, strict=True))]
    if problem.objective is not Objective.THROUGHPUT or not all(map(isfinite, speeds)) or not all(speeds):
        return lower_bound_without_transfers(least)
    least_cost: float = sum(min(map(mul, own, speeds)) for own in seconds)
    return least_cost / sum(speeds)


def _why_not(problem: Problem) -> str:
    if problem.keeps_state:
        return "the network keeps a state from one inference to the next, of which each copy would have its own"
    free = replicate(replace(problem.without_limits(), frame_period_s=0.0, must_use_all=False))
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
