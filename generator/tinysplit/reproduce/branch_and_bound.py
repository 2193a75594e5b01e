"""Branch and bound: layers in their order, depth first, the most promising device first (seed 000, section 3.3).

Seed 000 underestimates what is left by each layer's fastest device. Here the bound is the exact cost of the rest with
unlimited flash, transfers included, from dynamic programming backwards over (layer, device). What is left then is
the packing, and of two partial assignments that leave the same free flash only the faster one is followed. Throughput,
energy and limits have a search of their own, `period_search.py`, with bounds on I, on the period and on energy.
"""

from time import perf_counter

from tinysplit.common.errors import UsageError
from tinysplit.reproduce.partial import assignment_of
from tinysplit.reproduce.period_search import PeriodSearch
from tinysplit.reproduce.tree_search import TreeSearch
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.evaluate.memory import within_ram
from tinysplit.split.explain.infeasible import check_memories, explain, explain_timeout
from tinysplit.split.problem import Problem
from tinysplit.split.solution import DEFAULT_TIME_LIMIT_S, Split


def branch_and_bound(
    problem: Problem,
    *,
    time_limit_s: float = DEFAULT_TIME_LIMIT_S,
    as_published: bool = False,
) -> Split:
    """Return a best split, or after `time_limit_s` the best one found, with a bound and `proved` False.

    `as_published` leaves out everything that seed 000 does not have: its bound, no memory of states, no symmetry, and
    the rules of the problem are only looked at once all layers are assigned; it knows latency only. CheckFailedError
    says why nothing fits.
    """
    if not problem.is_chain:
        raise UsageError("branch and bound knows chains only, and this network has branches: take --solver graph")
    check_memories(problem)
    start = perf_counter()
    searched = within_ram(problem)
    if problem.asks_for_period or problem.is_limited:
        if as_published:
            raise UsageError("branch and bound as published knows neither throughput, energy nor limits: take ours")
        search: TreeSearch | PeriodSearch = PeriodSearch(searched)
    else:
        search = TreeSearch(searched, as_published=as_published)
    search.run(time_limit_s)
    if search.best is None:
        raise explain_timeout(problem, time_limit_s) if search.open_nodes else explain(problem)
    assignment = assignment_of(search.best)
    best_s = evaluate(problem, assignment).value
    return Split(
        problem=problem,
        assignment=assignment,
        lower_bound=min([best_s, *(node.bound for node in search.open_nodes)]),
        explored=search.explored,
        solver="branch-and-bound-published" if as_published else "branch-and-bound",
        spent_s=perf_counter() - start,
    )


def branch_and_bound_as_published(problem: Problem, *, time_limit_s: float = DEFAULT_TIME_LIMIT_S) -> Split:
    """Return what seed 000's own branch and bound finds; it is kept for comparison."""
    return branch_and_bound(problem, time_limit_s=time_limit_s, as_published=True)
