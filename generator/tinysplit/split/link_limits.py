"""Splits in which no board has more neighbours than link UARTs, by branch and bound over forbidden links.

The solvers know pairs of boards, not how many links one board takes part in. So a split that gives a board too many
neighbours is forbidden one link at a time: whatever keeps the limit lacks at least one of these links, so leaving out
each of them in turn loses nothing. The alternatives are searched best bound first, which makes the first split that
keeps all limits the best one. What is found over few links (`link_sets.py`) is there from the start.

Where boards relay tensors, what a forbidden link carried takes the fastest route that is left. That keeps other boards
busy, so that a period, energy or RAM may even get less: there the bound is that of layers alone (`lower_bound.py`).
"""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf

from tinysplit.common.errors import CheckFailedError
from tinysplit.split import clock
from tinysplit.split.explain.infeasible import InfeasibleError
from tinysplit.split.link_sets import LinkSet, link_seconds, search_link_sets, without_links
from tinysplit.split.problem import Problem
from tinysplit.split.solution import DEFAULT_TIME_LIMIT_S, Split
from tinysplit.split.solve import solve
from tinysplit.split.solvers.lower_bound import lower_bound_without_transfers
from tinysplit.split.topology import Pair, pair_of

SETS_SHARE = 0.75  # of the time, until when sets of links are tried


def solve_within_links(
    problem: Problem, link_counts: Sequence[int], solver: str, *, time_limit_s: float = DEFAULT_TIME_LIMIT_S
) -> Split:
    """Return the best split in which device i has at most `link_counts[i]` neighbours.

    Where tensors are passed on, the problem of the split lacks the links that nothing may use. InfeasibleError where
    there is no split, CheckFailedError where none was found in `time_limit_s`.
    """
    start = clock.now()
    if min(link_counts) >= len(problem.devices) - 1:
        return solve(problem, solver, time_limit_s=time_limit_s)
    _check_counts(problem, link_counts)
    # Half of the time, here and below: alternatives need some, too.
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
    """Raise InfeasibleError where all boards must be used and cannot be joined."""
    n_links, n_uarts = len(problem.devices) - 1, sum(link_counts)
    if problem.must_use_all and n_uarts < 2 * n_links:
        raise InfeasibleError(
            f"no split gets by with the boards' link UARTs: {n_links} links at least join {n_links + 1} boards and "
            f"take {2 * n_links} UARTs, and the boards have {n_uarts}: leave boards out, name boards with "
            "more, or let the best split leave boards out (--no-use-all)"
        )


def _try(problem: Problem, solver: str, time_limit_s: float) -> Split | None:
    """Return what `solver` finds, None for nothing in time; InfeasibleError where there is nothing."""
    try:
        return solve(problem, solver, time_limit_s=time_limit_s)
    except InfeasibleError:
        raise
    except CheckFailedError:
        return None


@dataclass(order=True)
class _Node:
    """A problem without some links, and its split; `bound` holds for all problems without these and more."""

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
    """Return the links of the first device that has more neighbours than UARTs; none where all is well."""
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
        return InfeasibleError(f"no split gets by with the boards' link UARTs ({counts})")
    return CheckFailedError(f"no split was found in time that gets by with the boards' link UARTs ({counts})")
