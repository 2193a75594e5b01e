"""Exact search for networks of any shape, every objective and limit, over the frontiers of needed tensors.

At first few nodes are kept behind each layer: what is found there cuts off most of the others. Then many are, until
all ways that could be better have been looked at.
"""

from math import inf
from time import perf_counter

from tinysplit.split.explain.infeasible import check_memories, explain, explain_timeout
from tinysplit.split.problem import Problem
from tinysplit.split.solution import DEFAULT_TIME_LIMIT_S, Split
from tinysplit.split.solvers.dag.incumbent import Incumbent
from tinysplit.split.solvers.dag.label_search import search_frontier
from tinysplit.split.solvers.dag.resources import Columns
from tinysplit.split.solvers.dag.state_graph_builder import FrontierBuilder
from tinysplit.split.solvers.floors import floor_value

MOST_NODES = (128, 1_500, 15_000)  # behind each layer
TRIAL_PASSES = 2  # where nodes are missing, a proof is worth little


def graph_search(problem: Problem, *, time_limit_s: float = DEFAULT_TIME_LIMIT_S) -> Split:
    """Return a best split, or after `time_limit_s` the best one found, with a bound and `proved` False.

    CheckFailedError says why nothing fits.
    """
    check_memories(problem)
    start = perf_counter()
    incumbent = Incumbent(problem)
    lower_bound = _search(problem, incumbent, start + time_limit_s)
    if not incumbent.assignment:
        raise explain(problem) if incumbent.is_proved_by(lower_bound) else explain_timeout(problem, time_limit_s)
    return Split(
        problem=problem,
        assignment=incumbent.assignment,
        lower_bound=min(lower_bound, incumbent.value),
        explored=incumbent.explored,
        solver="graph",
        spent_s=perf_counter() - start,
    )


def _search(problem: Problem, incumbent: Incumbent, deadline: float) -> float:
    """Improve `incumbent` and return a lower bound for all splits."""
    columns = Columns(problem)
    builder = FrontierBuilder(problem, columns)
    for device in range(len(problem.devices)):
        incumbent.offer((device,) * len(problem.layers))
    incumbent.offer_runs(deadline)
    lower_bound = floor_value(problem)
    for most_nodes in MOST_NODES:
        frontier = builder.build(most_nodes, incumbent.value, deadline)
        if frontier is None:
            break
        is_last = frontier.left_out >= incumbent.value or most_nodes == MOST_NODES[-1]
        passes = inf if is_last else TRIAL_PASSES
        found = search_frontier(frontier, columns, incumbent, deadline=deadline, most_passes=passes)
        lower_bound = max(lower_bound, min(found, frontier.left_out))
        if incumbent.is_proved_by(lower_bound) or perf_counter() > deadline:
            break
    return lower_bound
