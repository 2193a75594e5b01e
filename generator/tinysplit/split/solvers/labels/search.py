"""Exact label setting for networks of any shape, every objective and limit, over the states of pending tensors.

At first few states are kept after each layer: what is found there prunes most of the others. Then more are kept, until
every path that could be better has been considered.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import inf

from tinysplit.common.choices import DEFAULT_TIME_LIMIT_S
from tinysplit.split import clock
from tinysplit.split.least_costs import with_least_costs
from tinysplit.split.problem import Period, Problem
from tinysplit.split.solution import Split
from tinysplit.split.solvers.labels.fused import FusedLayerCosts
from tinysplit.split.solvers.labels.incumbent import Incumbent
from tinysplit.split.solvers.labels.label_search import search_state_graph
from tinysplit.split.solvers.labels.resources import Resources
from tinysplit.split.solvers.labels.state_graph_builder import StateGraphBuilder
from tinysplit.split.solvers.lower_bound import lower_bound_without_transfers
from tinysplit.split.solvers.no_split import NoSplitError, exceeds_capacity

MOST_NODES = (128, 1_500, 15_000)  # after each layer
TRIAL_PASSES = 2  # with an incomplete graph, a proof has little value
FIRST_GRAPH_S = 2.0  # at least, where no split is known
LOAD_SHARE = 0.5  # share of the time limit for the best split of the period `load`


def label_search(
    problem: Problem, *, link_counts: Sequence[int] = (), time_limit_s: float = DEFAULT_TIME_LIMIT_S
) -> Split:
    """Return an optimal split, or after `time_limit_s` seconds the best one found, with its lower bound.

    Device i has at most `link_counts[i]` neighbours, any number if that is empty.

    Raises:
        NoSplitError: the problem is infeasible, or no split was found in time.
    """
    start = clock.now()
    incumbent = Incumbent(problem, link_counts)
    for device in range(len(problem.devices)):  # alone, it has the memory that links would take
        incumbent.offer((device,) * len(problem.layers))
    lower_bound = inf
    if not exceeds_capacity(with_least_costs(problem)):
        if problem.asks_for_period and problem.period_definition is Period.OLD:
            start_from_load(problem, incumbent, start + LOAD_SHARE * time_limit_s)
        lower_bound = _search(problem, incumbent, start + time_limit_s)
    if not incumbent.assignment:
        raise NoSplitError(proved=incumbent.is_proved_by(lower_bound))
    return Split(
        problem=problem,
        assignment=incumbent.assignment,
        lower_bound=min(float(lower_bound), incumbent.value),
        explored=incumbent.explored,
        solver="labels",
        spent_s=clock.now() - start,
    )


def start_from_load(problem: Problem, incumbent: Incumbent, deadline: float) -> None:
    """Offer the best split for the period `load`, which is never less than `old` and guides the search better."""
    by_load = Incumbent(replace(problem, period_definition=Period.LOAD), incumbent.link_counts)
    _search(by_load.problem, by_load, deadline)
    incumbent.explored += by_load.explored
    incumbent.offer(by_load.assignment)


def _search(problem: Problem, incumbent: Incumbent, deadline: float) -> float:
    """Improve `incumbent` and return a lower bound for all others that use links, infinite where there are none."""
    costs = FusedLayerCosts(problem)
    resources = Resources(costs.least)
    builder = StateGraphBuilder(costs, resources)
    incumbent.offer_pipelines(deadline)
    lower_bound = lower_bound_without_transfers(costs.least)
    if incumbent.is_proved_by(lower_bound):
        return lower_bound
    for most_nodes in MOST_NODES:
        until = deadline if incumbent.assignment else max(deadline, clock.now() + FIRST_GRAPH_S)
        graph = builder.build(most_nodes, incumbent.value, until)
        if graph is None:
            break
        is_last = graph.left_out >= incumbent.value or most_nodes == MOST_NODES[-1]
        passes = inf if is_last else TRIAL_PASSES
        found = search_state_graph(graph, resources, incumbent, deadline=deadline, most_passes=passes)
        lower_bound = max(lower_bound, min(found, graph.left_out))
        if incumbent.is_proved_by(lower_bound) or clock.now() > deadline:
            break
    return lower_bound
