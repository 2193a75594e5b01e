"""A board talks to no more neighbours than it has link UARTs.

The solvers know pairs of boards, not how many of them one board takes part in. So a split that gives a board too many
neighbours is forbidden one link at a time: whatever keeps the limit lacks at least one of these links, so leaving out
each of them in turn loses nothing. The alternatives are searched best bound first, which makes the first split that
keeps all limits the best one.
"""

import heapq
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from math import inf
from time import perf_counter

from tinysplit.errors import CheckFailedError
from tinysplit.split.problem import Assignment, Problem, crossings
from tinysplit.split.solve import solve
from tinysplit.split.split import DEFAULT_TIME_LIMIT_S, Split

Pair = tuple[int, int]


def solve_within_links(
    problem: Problem, link_counts: Sequence[int], solver: str, *, time_limit_s: float = DEFAULT_TIME_LIMIT_S
) -> Split:
    """Return the best split in which device i has at most `link_counts[i]` neighbours.

    CheckFailedError where there is none, or none was found in `time_limit_s`.
    """
    start = perf_counter()
    first = solve(problem, solver, time_limit_s=time_limit_s)
    explored, seen = first.explored, {frozenset[Pair]()}
    queue = [(first.lower_bound, 0, frozenset[Pair](), first)]
    while queue:
        bound, _, forbidden, found = heapq.heappop(queue)
        crowded = _crowded_links(found.assignment, link_counts)
        if not crowded:
            return replace(found, problem=problem, lower_bound=bound, explored=explored, spent_s=perf_counter() - start)
        for pair in crowded:
            without = forbidden | {pair}
            left_s = time_limit_s - (perf_counter() - start)
            if without in seen or left_s <= 0:
                continue
            seen.add(without)
            try:
                found = solve(_without_links(problem, without), solver, time_limit_s=left_s)
            except CheckFailedError:
                continue
            explored += found.explored
            heapq.heappush(queue, (max(bound, found.lower_bound), len(seen), without, found))
    counts = ", ".join(
        f"board {index + 1} ({device.name}) has {count}"
        for index, (device, count) in enumerate(zip(problem.devices, link_counts, strict=True))
    )
    raise CheckFailedError(f"no split was found that gets by with the boards' link UARTs ({counts})")


def _crowded_links(assignment: Assignment, link_counts: Sequence[int]) -> list[Pair]:
    """Return the links of the first device that has more neighbours than UARTs; none where all is well."""
    neighbours: dict[int, set[int]] = defaultdict(set)
    for _, sender, receiver in crossings(assignment):
        neighbours[sender].add(receiver)
        neighbours[receiver].add(sender)
    for device, others in sorted(neighbours.items()):
        if len(others) > link_counts[device]:
            return [(min(device, other), max(device, other)) for other in sorted(others)]
    return []


def _without_links(problem: Problem, forbidden: frozenset[Pair]) -> Problem:
    """Return the problem in which nothing can cross between these pairs."""
    devices = range(len(problem.devices))
    transfers = tuple(
        tuple(tuple(inf if (min(a, b), max(a, b)) in forbidden else table[a][b] for b in devices) for a in devices)
        for table in problem.transfer_seconds
    )
    return replace(problem, transfer_seconds=transfers)
