"""Heuristic for splits within the UARTs of the boards: solves the problem over several sets of links.

No board has more links in a set than UARTs, so every split over such a set is within the limits. A set starts with a
spanning tree of the boards where one exists: as long as each connected component keeps a free UART and the UARTs
suffice for the n - 1 links of a tree, the components can be connected. Links between boards with free UARTs are then
added. The links of the incumbent come first, weighted by their busy time, the others in random order from a fixed seed.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import inf, isfinite
from random import Random

from tinysplit.common.errors import CheckFailedError
from tinysplit.split import clock
from tinysplit.split.problem import Problem
from tinysplit.split.solution import Split
from tinysplit.split.solve import solve
from tinysplit.timing.topology import Pair, pair_of

LinkSet = frozenset[Pair]

MAX_SETS = 40
TRIES_LEFT = 4  # number of sets that the time left is divided by
FORGOTTEN = 0.3  # share of the links of the incumbent that are ranked at random


def search_link_sets(
    problem: Problem, link_counts: Sequence[int], solver: str, begin_with: Split | None, deadline: float
) -> Split | None:
    """Return the best split found over sets of links until `deadline`, None without one.

    `begin_with` is a split whose links are preferred; it may exceed the UARTs.
    """
    best: Split | None = None
    rng, seen, explored = Random(0), set[LinkSet](), 0  # noqa: S311 (no secret)
    for number in range(MAX_SETS):
        known = best or begin_with
        used = link_seconds(known) if known else {}
        links = _draw(problem, link_counts, _ranking(problem, used, rng, forgotten=FORGOTTEN if number else 0.0))
        left_s = deadline - clock.now()
        if links in seen:
            continue
        if left_s <= 0:
            break
        seen.add(links)
        found = _solve_over(problem, links, solver, left_s / TRIES_LEFT)
        if found:
            explored += found.explored
            best = min(best or found, found, key=lambda split: split.objective)
    return replace(best, explored=explored) if best else None


def link_seconds(split: Split) -> Mapping[Pair, float]:
    """Return the busy time in seconds of each link of `split`, in both directions together."""
    taken: dict[Pair, float] = defaultdict(float)
    for cut in split.cuts:
        for hop in split.problem.hops(cut):
            taken[pair_of(hop.sender, hop.receiver)] += hop.seconds
    return taken


def without_links(problem: Problem, forbidden: LinkSet) -> Problem:
    """Return the problem without the links between these pairs of boards."""
    if problem.links:
        links = problem.links.without(forbidden)
        return replace(problem, links=links, transfer_seconds=links.transfer_seconds)
    transfers = tuple(
        tuple(
            tuple(inf if pair_of(a, b) in forbidden else seconds for b, seconds in enumerate(row))
            for a, row in enumerate(table)
        )
        for table in problem.transfer_seconds
    )
    return replace(problem, transfer_seconds=transfers)


def _solve_over(problem: Problem, links: LinkSet, solver: str, time_limit_s: float) -> Split | None:
    others = frozenset(combinations(range(len(problem.devices)), 2)) - links
    try:
        return solve(without_links(problem, others), solver, time_limit_s=time_limit_s)
    except CheckFailedError:  # infeasible or out of time: try the next set
        return None


def _ranking(problem: Problem, used: Mapping[Pair, float], rng: Random, *, forgotten: float) -> list[Pair]:
    """Return all links by busy time, longest first; unused ones and a random share `forgotten` are in random order."""
    table = problem.links.direct if problem.links else problem.transfer_seconds
    pairs = [(a, b) for a, b in combinations(range(len(problem.devices)), 2) if any(isfinite(t[a][b]) for t in table)]
    rng.shuffle(pairs)
    return sorted(pairs, key=lambda pair: -used.get(pair, 0.0) if rng.random() >= forgotten else 0.0)


def _draw(problem: Problem, link_counts: Sequence[int], ranking: Sequence[Pair]) -> LinkSet:
    """Return a spanning tree of the boards, as far as possible, and more links while UARTs are left."""
    free = list(link_counts)
    part = list(range(len(problem.devices)))  # connected component of each board
    chosen = set[Pair]()
    for a, b in _joining(ranking, free, part):
        chosen.add((a, b))
        free[a], free[b] = free[a] - 1, free[b] - 1
        part[:] = [part[a] if number == part[b] else number for number in part]
    for a, b in ranking:
        if (a, b) not in chosen and free[a] and free[b]:
            chosen.add((a, b))
            free[a], free[b] = free[a] - 1, free[b] - 1
    return frozenset(chosen)


def _joining(ranking: Sequence[Pair], free: Sequence[int], part: Sequence[int]) -> Iterator[Pair]:
    """Yield links between two components that leave a free UART, or that connect the last two.

    The caller updates `free` and `part` after every link.
    """
    left = True
    while left:
        left = False
        for a, b in ranking:
            if part[a] == part[b] or not (free[a] and free[b]):
                continue
            joined_free = sum(count for count, number in zip(free, part, strict=True) if number in {part[a], part[b]})
            if joined_free > 2 or len(set(part)) == 2:  # noqa: PLR2004 (the two ends; the last two parts)
                yield a, b
                left = True
