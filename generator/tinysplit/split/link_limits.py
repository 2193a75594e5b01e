"""Splits in which no board has more neighbours than link UARTs, by branch and bound over forbidden links.

The solvers do not limit the number of links per board. Where a split gives a board too many neighbours, branching
forbids one of its links at a time: a split within the limit lacks at least one of these links, so no feasible split is
lost. Nodes are searched by lower bound (best first), so that the first split within all limits is optimal. The initial
incumbent comes from `link_sets.py`.

Where boards relay tensors, a tensor takes the fastest route over the links that are left. Other boards then relay it,
so that the period, the energy or the RAM may even decrease when a link is forbidden. The bound of a node is then the
cost of the layers without transfers (`lower_bound.py`).
"""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf

from tinysplit.common.choices import DEFAULT_TIME_LIMIT_S
from tinysplit.common.errors import CheckFailedError
from tinysplit.settings.boards_and_links import USE_ALL
from tinysplit.split import clock
from tinysplit.split.explain.infeasible import InfeasibleError
from tinysplit.split.link_sets import LinkSet, link_seconds, search_link_sets, without_links
from tinysplit.split.problem import Problem
from tinysplit.split.solution import Split
from tinysplit.split.solve import solve
from tinysplit.split.solvers.lower_bound import lower_bound_without_transfers
from tinysplit.timing.topology import Pair, pair_of

SETS_SHARE = 0.75  # of the time limit, for the search of `link_sets.py`


def solve_within_links(
    problem: Problem, link_counts: Sequence[int], solver: str, *, time_limit_s: float = DEFAULT_TIME_LIMIT_S
) -> Split:
    """Return the best split in which device i has at most `link_counts[i]` neighbours.

    Where boards relay tensors, the `problem` of the split lacks the forbidden links.

    Raises:
        InfeasibleError: there is no such split.
        CheckFailedError: none was found in `time_limit_s` seconds.
    """
    start = clock.now()
    if min(link_counts) >= len(problem.devices) - 1:
        return solve(problem, solver, time_limit_s=time_limit_s)
    _check_counts(problem, link_counts)
    # Half of the time, here and in the nodes: the remaining nodes need the rest.
    first = _try(problem, solver, time_limit_s / 2)
    search = _Search(problem, link_counts, solver, start + time_limit_s)
    if first is None or _crowded_links(first, link_counts):
        sets_until = start + SETS_SHARE * time_limit_s
        search.best = search_link_sets(problem, link_counts, solver, first, sets_until)
    found = search.run(first)
    if found is None:
        raise _nothing_found(problem, link_counts, is_sure=search.lost_bound == inf)
    return replace(found, spent_s=clock.now() - start)


def _check_counts(problem: Problem, link_counts: Sequence[int]) -> None:
    """Raise InfeasibleError if all boards must be used and the UARTs cannot connect them."""
    n_links, n_uarts = len(problem.devices) - 1, sum(link_counts)
    if problem.must_use_all and n_uarts < 2 * n_links:
        raise InfeasibleError(
            f"no split is feasible with the boards' link UARTs: connecting {n_links + 1} boards takes at least "
            f"{n_links} links with {2 * n_links} UARTs, and the boards have {n_uarts}: use fewer boards, boards with "
            f"more UARTs, or {USE_ALL(False)}"
        )


def _try(problem: Problem, solver: str, time_limit_s: float) -> Split | None:
    """Return the split that `solver` finds, None if it finds none in time. Raises InfeasibleError if there is none."""
    try:
        return solve(problem, solver, time_limit_s=time_limit_s)
    except InfeasibleError:
        raise
    except CheckFailedError:
        return None


@dataclass(order=True)
class _Node:
    """A problem without some links, and its split; `bound` is valid also if more links are forbidden."""

    bound: float
    number: int
    forbidden: LinkSet = field(compare=False)
    split: Split = field(compare=False)


class _Search:
    def __init__(self, problem: Problem, link_counts: Sequence[int], solver: str, deadline: float) -> None:
        self.problem, self.link_counts, self.solver, self.deadline = problem, link_counts, solver, deadline
        self.seen: set[LinkSet] = {frozenset()}
        self.lost_bound = inf  # of the problems that there was no time for
        self.best: Split | None = None  # that keeps all limits

    def run(self, first: Split | None) -> Split | None:
        """Return the best split that keeps all limits, None for none; `first` None was not found in time."""
        queue = [_Node(first.lower_bound, 0, frozenset(), first)] if first else []
        self.lost_bound = inf if first else lower_bound_without_transfers(self.problem)
        best, explored = self.best, sum(split.explored for split in (self.best, first) if split)
        bound = inf  # of the problems that need no alternatives
        while queue and (best is None or queue[0].bound < best.objective):
            node = heapq.heappop(queue)
            crowded = _crowded_links(node.split, self.link_counts)
            for opened in self._open([node.forbidden | {pair} for pair in crowded], node.bound):
                explored += opened.split.explored
                heapq.heappush(queue, opened)
            if not crowded:
                bound = min(bound, node.bound)
                best = min(best or node.split, node.split, key=lambda split: split.objective)
        if best is None:
            return None
        bound = min([bound, self.lost_bound, best.objective, *(node.bound for node in queue)])
        if self.problem.links and len(self.seen) > 1:
            bound = min(bound, lower_bound_without_transfers(self.problem))
        return replace(
            best, problem=best.problem if self.problem.links else self.problem, lower_bound=bound, explored=explored
        )

    def _open(self, alternatives: Iterable[LinkSet], bound: float) -> Iterator[_Node]:
        for forbidden in alternatives:
            if forbidden in self.seen:
                continue
            self.seen.add(forbidden)
            left_s = self.deadline - clock.now()
            try:
                split = self._solve_without(forbidden, left_s / 2)
            except InfeasibleError:
                continue
            except CheckFailedError:
                self.lost_bound = min(self.lost_bound, bound)
                continue
            yield _Node(max(bound, split.lower_bound), len(self.seen), forbidden, split)

    def _solve_without(self, forbidden: LinkSet, time_limit_s: float) -> Split:
        if time_limit_s <= 0:
            raise CheckFailedError("out of time")
        return solve(without_links(self.problem, forbidden), self.solver, time_limit_s=time_limit_s)


def _crowded_links(split: Split, link_counts: Sequence[int]) -> list[Pair]:
    """Return the links of the first device that has more neighbours than UARTs; empty if none has."""
    neighbours: dict[int, set[int]] = defaultdict(set)
    for a, b in link_seconds(split):
        neighbours[a].add(b)
        neighbours[b].add(a)
    for device, others in sorted(neighbours.items()):
        if len(others) > link_counts[device]:
            return [pair_of(device, other) for other in sorted(others)]
    return []


def _nothing_found(problem: Problem, link_counts: Sequence[int], *, is_sure: bool) -> CheckFailedError:
    counts = ", ".join(
        f"board {index + 1} ({device.name}) has {count}"
        for index, (device, count) in enumerate(zip(problem.devices, link_counts, strict=True))
    )
    if is_sure:
        return InfeasibleError(f"no split is feasible with the boards' link UARTs ({counts})")
    return CheckFailedError(f"no split within the boards' link UARTs was found in time ({counts})")
