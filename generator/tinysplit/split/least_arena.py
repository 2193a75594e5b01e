"""The split for which the board that needs most RAM needs as little as possible."""

from collections.abc import Callable
from dataclasses import replace

from tinysplit.split import clock
from tinysplit.split.least_costs import with_least_costs
from tinysplit.split.problem import Problem
from tinysplit.split.solution import Split
from tinysplit.split.solvers.no_split import NoSplitError


def with_least_arena(
    problem: Problem, found: Split, search: Callable[[Problem, float], Split], time_limit_s: float
) -> Split:
    """Return the best of the splits with the smallest arena on the board that needs most: `found`, or by bisection.

    Where links take what arenas save, it is no better. `search` takes a problem and a time limit in seconds, and raises
    NoSplitError where there is no split. All searches end after `time_limit_s` seconds together. The lower bound is
    that of splits whose arenas are no larger, 0 where a smaller one has not been excluded.
    """
    deadline_s, is_late, is_sure = clock.now() + time_limit_s, False, True
    limit = least = _least_bytes(problem)
    while least < (most := max(found.figures.ram_bytes)):
        left_s = deadline_s - clock.now()
        if left_s <= 0:
            is_late = True
            break
        try:
            other = search(replace(problem, max_arena_bytes=limit), left_s)
        except NoSplitError as error:
            least, is_sure = limit + 1, is_sure and error.proved
        else:
            if most_ram_bytes(other) < most_ram_bytes(found):
                found, most = other, max(other.figures.ram_bytes)
            else:
                least = limit + 1
        limit = (least + most) // 2
    return found if is_sure and not is_late else replace(found, lower_bound=0.0, ended_by_time=is_late)


def most_ram_bytes(split: Split) -> int:
    """Return the RAM that arena and links take of the board on which they take most."""
    figures = split.figures
    return max(arena + links for arena, links in zip(figures.ram_bytes, figures.link_bytes, strict=True))


def _least_bytes(problem: Problem) -> int:
    """Return what the layer that needs most needs on any device."""
    return max(min(layer.ram_bytes) for layer in with_least_costs(problem).layers)
