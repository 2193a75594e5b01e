"""Splits in which no board has more neighbours than link UARTs.

The label search counts neighbours. Where boards relay tensors, a tensor takes the fastest route over the links that are
left: with fewer links other boards relay it, which may even be better. Then every set of links within the UARTs is a
problem of its own. Those with the links that a split without limits uses most come first, up to one whose split is no
slower than that, or costs no more than the layers without transfers (`lower_bound.py`). Where time ends before all were
searched, that is the bound.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import inf, isfinite

from tinysplit.common.choices import DEFAULT_TIME_LIMIT_S, check_solver
from tinysplit.common.errors import CheckFailedError
from tinysplit.settings.boards_and_links import USE_ALL
from tinysplit.split import clock
from tinysplit.split.explain.infeasible import InfeasibleError, explain
from tinysplit.split.least_arena import with_least_arena
from tinysplit.split.least_costs import with_least_costs
from tinysplit.split.problem import Objective, Problem
from tinysplit.split.solution import Split
from tinysplit.split.solve import solve
from tinysplit.split.solvers.labels.search import label_search
from tinysplit.split.solvers.lower_bound import lower_bound_without_transfers
from tinysplit.split.solvers.no_split import NoSplitError
from tinysplit.timing.topology import Cut, Links, Pair, pair_of

LEAST_SHARE = 8  # a set of links gets that part of the time that is left


def solve_within_links(
    problem: Problem, link_counts: Sequence[int], solver: str, *, time_limit_s: float = DEFAULT_TIME_LIMIT_S
) -> Split:
    """Return the best split in which device i has at most `link_counts[i]` neighbours.

    Where boards relay tensors, the `problem` of the split lacks the links that it must not use. To minimise RAM, it is
    the best one of the least arena.

    Raises:
        UsageError: there is no solver of that name.
        InfeasibleError: there is no such split.
        CheckFailedError: none was found in `time_limit_s` seconds.
    """
    check_solver(solver)
    start, are_limited = clock.now(), min(link_counts) < len(problem.devices) - 1
    if are_limited:
        _check_counts(problem, link_counts)

    def search(each: Problem, left_s: float) -> Split:
        if are_limited and each.links:
            return _best_of_link_sets(each, each.links, link_counts, clock.now() + left_s)
        return label_search(each, link_counts=link_counts if are_limited else (), time_limit_s=left_s)

    try:
        found = search(problem, time_limit_s)
        if problem.minimises_ram:
            found = with_least_arena(problem, found, search, start + time_limit_s - clock.now())
    except NoSplitError as error:
        if not are_limited:
            raise explain(problem, proved=error.proved, time_limit_s=time_limit_s) from None
        if error.proved:
            solve(problem, solver, time_limit_s=time_limit_s)  # says why where the UARTs are not the reason
        raise _nothing_found(problem, link_counts, is_sure=error.proved) from None
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


def _best_of_link_sets(problem: Problem, links: Links, link_counts: Sequence[int], deadline: float) -> Split:
    """Return the best split over all sets of links within the UARTs, as far as time allows.

    Raises NoSplitError where none has a split.
    """
    every = [pair for pair in combinations(range(len(problem.devices)), 2) if _is_linked(links, pair)]
    free = _without_limits(problem, deadline)
    used = _seconds_of_links(problem, free.cuts if free else ())
    every.sort(key=lambda pair: -used.get(pair, 0.0))
    best: Split | None = None
    least = lower_bound_without_transfers(with_least_costs(problem))
    if free and problem.objective is Objective.LATENCY and not problem.asks_for_period:
        least = max(least, free.lower_bound)
    bound, explored, is_complete = inf, 0, True
    for kept in _sets_within(every, tuple(link_counts)):
        left_s = deadline - clock.now()
        if left_s <= 0 and (best or explored):
            is_complete = False
            break
        rest = links.without(set(every) - kept)
        limited = replace(problem, links=rest, transfer_seconds=rest.transfer_seconds)
        try:
            found = label_search(limited, link_counts=link_counts, time_limit_s=max(0.0, left_s / LEAST_SHARE))
        except NoSplitError as error:
            is_complete &= error.proved
            continue
        explored, bound = explored + found.explored, min(bound, found.lower_bound)
        best = min(best or found, found, key=lambda split: split.objective)
        if best.objective <= least:  # no set of links makes it better
            break
    if best is None:
        raise NoSplitError(proved=is_complete)
    bound = max(bound, least) if is_complete else least
    return replace(best, lower_bound=min(bound, best.objective), explored=explored)


def _is_linked(links: Links, pair: Pair) -> bool:
    a, b = pair
    return any(isfinite(table[a][b]) or isfinite(table[b][a]) for table in links.direct)


def _without_limits(problem: Problem, deadline: float) -> Split | None:
    """Return a split for which each tensor takes its fastest route, and needs no RAM for links or on the way.

    No split with fewer links has a shorter latency.
    """
    devices = tuple(replace(device, driver_bytes=()) for device in problem.devices)
    direct = replace(problem, links=None, devices=devices)
    try:
        return label_search(direct, time_limit_s=max(0.0, (deadline - clock.now()) / LEAST_SHARE))
    except NoSplitError:
        return None


def _seconds_of_links(problem: Problem, cuts: Iterable[Cut]) -> Mapping[Pair, float]:
    """Return the busy seconds of each link, both directions together, with these cuts."""
    taken: dict[Pair, float] = defaultdict(float)
    for cut in cuts:
        for hop in problem.hops(cut):
            taken[pair_of(hop.sender, hop.receiver)] += hop.seconds
    return taken


def _sets_within(pairs: Sequence[Pair], free: tuple[int, ...]) -> Iterator[frozenset[Pair]]:
    """Yield all sets of `pairs` in which device i occurs at most `free[i]` times, those with the first pairs first."""
    if not pairs:
        yield frozenset()
        return
    first, *others = pairs
    if all(free[device] for device in first):
        less = tuple(count - (device in first) for device, count in enumerate(free))
        for some in _sets_within(others, less):
            yield some | {first}
    yield from _sets_within(others, free)


def _nothing_found(problem: Problem, link_counts: Sequence[int], *, is_sure: bool) -> CheckFailedError:
    counts = ", ".join(
        f"board {index + 1} ({device.name}) has {count}"
        for index, (device, count) in enumerate(zip(problem.devices, link_counts, strict=True))
    )
    if is_sure:
        return InfeasibleError(f"no split is feasible with the boards' link UARTs ({counts})")
    return CheckFailedError(f"no split within the boards' link UARTs was found in time ({counts})")
