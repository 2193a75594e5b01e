"""Which layers have their constants in the external memory: those that cost the fewest cycles for the flash they free.

A knapsack problem: free at least the bytes that the flash lacks, at the least cost. Solved by dynamic programming over
the freed bytes, in units of a word, or of 1/16384 of what has to be freed where that is more. Sizes are rounded down to
units, so that the result always frees enough; it is the best one for sizes that are smaller by less than a unit each.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tinysplit.common.alignment import WORD_BYTES

EXPECTED_DRIVER_BYTES = 940  # of flash that the driver of the external memory takes, built by GCC 12.2 for Cortex-M4
DRIVER_BYTES = 1024  # of flash that the driver of the external memory takes at most
_MOST_UNITS = 1 << 14


class Movable(NamedTuple):
    """Constants that may lie elsewhere, as in external memory: their layer, their bytes, the cycles they cost."""

    number: int
    size_bytes: int
    cycles: float


def choose_external(movable: Sequence[Movable], free_bytes: int, capacity_bytes: int) -> frozenset[int]:
    """Return the layers whose constants go out if all leave `free_bytes` of flash, negative where it lacks some.

    Where the external memory does not hold enough, it takes what costs the fewest cycles a byte until it is full.
    """
    if free_bytes >= 0:
        return frozenset()
    needed_bytes, movable = DRIVER_BYTES - free_bytes, [each for each in movable if each.size_bytes]
    if sum(each.size_bytes for each in movable) >= needed_bytes:
        chosen = cheapest(movable, needed_bytes)
        if sum(each.size_bytes for each in chosen) <= capacity_bytes:
            return frozenset(each.number for each in chosen)
    return _filled(movable, capacity_bytes)


def cheapest(movable: Sequence[Movable], needed_bytes: int) -> list[Movable]:
    """Return the constants that free `needed_bytes` with the fewest cycles, all if rounding leaves no other way."""
    unit = max(WORD_BYTES, -(-needed_bytes // _MOST_UNITS))
    needed = -(-needed_bytes // unit)
    least = np.full(needed + 1, np.inf)  # cycles that free at least so many units
    least[0] = 0.0
    takes = np.zeros((len(movable), needed + 1), dtype=np.bool_)
    for row, each in zip(takes, movable, strict=True):
        before = np.maximum(np.arange(needed + 1) - each.size_bytes // unit, 0)
        with_it = least[before] + each.cycles
        row[:] = with_it < least
        least = np.where(row, with_it, least)
    if not np.isfinite(least[needed]):
        return list(movable)
    chosen = []
    for row, each in zip(takes[::-1], reversed(movable), strict=True):
        if row[needed]:
            chosen.append(each)
            needed = max(needed - each.size_bytes // unit, 0)
    return chosen


def _filled(movable: Sequence[Movable], capacity_bytes: int) -> frozenset[int]:
    chosen = set()
    for each in sorted(movable, key=lambda each: (each.cycles / each.size_bytes, each.number)):
        if each.size_bytes <= capacity_bytes:
            chosen.add(each.number)
            capacity_bytes -= each.size_bytes
    return frozenset(chosen)
