"""Static memory planning: offsets in one arena for buffers whose lifetimes are known.

Buffers that are live in the same step must not overlap, except for an output that may overlap its input (in-place).
Without that exception this is dynamic storage allocation, which is NP-hard (Garey and Johnson, 1979, problem SR2).
The heuristic here is first-fit over several orders of the buffers, then first-fit with backtracking in smaller arenas.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from math import inf, lcm
from typing import Generic, NamedTuple, Self, TypeVar

from tinysplit.common.alignment import WORD_BYTES, aligned
from tinysplit.kernels.in_place import ANYWHERE, Lead

Key = TypeVar("Key", bound=Hashable)
NEAR_BEGIN = 1 << 28  # more than any memory
MAX_REORDERINGS = 16  # orders derived from each first order; one of the first few is nearly always the best
MAX_BACKTRACKS = 1000  # in the search for an arena of one size


class InPlace(NamedTuple):
    """At which distances in bytes (offset of another buffer minus own offset) a buffer may lie over one that is live.

    At multiples of `unit_bytes` that are in no `forbidden` range; the ends of a range are allowed.
    """

    forbidden: tuple[tuple[int, int], ...] = ()
    unit_bytes: int = 1

    @classmethod
    def of(cls, lead: Lead) -> Self:
        """Return the distances of an output from an input that is not used in another way."""
        return cls(((ANYWHERE.least_bytes, lead.least_bytes),), lead.unit_bytes)

    def aligned(self) -> Self:
        """Return the distances for buffers at word-aligned offsets."""
        unit = lcm(self.unit_bytes, WORD_BYTES)
        return type(self)(tuple((low // unit * unit, -(-high // unit) * unit) for low, high in self.forbidden), unit)

    def reversed(self) -> Self:
        """Return the distances of the other buffer."""
        return self._replace(forbidden=tuple((-high, -low) for low, high in self.forbidden))

    def allows(self, distance: int) -> bool:
        """Return whether a buffer may lie so over the other one."""
        return distance % self.unit_bytes == 0 and not any(low < distance < high for low, high in self.forbidden)

    def shared_bytes(self, own_bytes: int, other_bytes: int) -> int:
        """Return an upper bound of the bytes in which buffers of these sizes overlap."""
        forbidden = self.aligned().forbidden
        ends = {0, own_bytes - other_bytes, *chain.from_iterable(forbidden)}
        allowed = [end for end in ends if not any(low < end < high for low, high in forbidden)]
        return max((min(own_bytes, end + other_bytes) - max(end, 0) for end in allowed), default=0)


@dataclass(frozen=True)
class Buffer(Generic[Key]):
    """`size_bytes` bytes that are live from step `first` to step `last`, both included.

    `in_place`: the buffers over which this one may lie while they are live: a layer's output over its inputs, and a
    moved tensor over its old location.
    """

    key: Key
    size_bytes: int
    first: int
    last: int
    in_place: tuple[tuple[Key, InPlace], ...] = ()


@dataclass(frozen=True)
class Arena(Generic[Key]):
    """A memory of `size_bytes` bytes with the offset of every buffer in bytes.

    Offsets from `NEAR_BEGIN` on are those of buffers in `near_bytes` of another memory, next to the core.
    """

    offsets: Mapping[Key, int]
    size_bytes: int
    near_bytes: int = 0


class Constraint(NamedTuple):
    """Allowed distances in bytes (offset of the other buffer minus own offset) of two buffers live in one step.

    A distance is allowed when the buffers are disjoint (>= `disjoint_before` or <= -`disjoint_after`), or `in_place`.
    """

    disjoint_before: int
    disjoint_after: int
    in_place: InPlace
    breakpoints: tuple[int, ...]  # distances at which a range of allowed ones begins or ends

    @classmethod
    def of(cls, buffer: Buffer[Key], other: Buffer[Key]) -> "Constraint":
        """Return the constraint on `buffer`."""
        own = next((each for key, each in buffer.in_place if key == other.key), None)
        its = None if own else next((each for key, each in other.in_place if key == buffer.key), None)
        return _constraint(buffer.size_bytes, other.size_bytes, own or (its and its.reversed()))

    def allows(self, distance: int) -> bool:
        """Return whether the buffer may begin `distance` bytes before the other."""
        return distance >= self.disjoint_before or -distance >= self.disjoint_after or self.in_place.allows(distance)


@lru_cache(maxsize=1 << 14)  # many pairs of buffers have the same sizes
def _constraint(size_bytes: int, other_bytes: int, in_place: InPlace | None) -> Constraint:
    """Return the constraint on a buffer of `size_bytes`, which is disjoint without `in_place`."""
    allowed = (in_place or InPlace(((-other_bytes, size_bytes),))).aligned()
    ends = chain.from_iterable(allowed.forbidden)
    within = (end for end in ends if -other_bytes < end < size_bytes)
    return Constraint(size_bytes, other_bytes, allowed, (size_bytes, -other_bytes, *within))


class FirstFit(Generic[Key]):
    """First-fit allocation of buffers in a given order, with backtracking."""

    def __init__(self, buffers: Sequence[Buffer[Key]]) -> None:
        """Take the buffers in their order of allocation; their sizes must be multiples of a word."""
        self.buffers = buffers
        live: dict[int, list[int]] = defaultdict(list)  # numbers of the buffers so far, by step
        self.constraints: list[list[tuple[int, Constraint]]] = []  # with the buffers that each is about
        for number, buffer in enumerate(buffers):
            steps = [live[step] for step in range(buffer.first, buffer.last + 1)]
            others = sorted(set(chain.from_iterable(steps)))
            self.constraints.append([(index, Constraint.of(buffer, buffers[index])) for index in others])
            for step in steps:
                step.append(number)

    def arena(self, limit_bytes: float = inf) -> Arena[Key] | None:
        """Return an arena of at most `limit_bytes` bytes: every buffer at the lowest offset that lets the others fit.

        Returns None when there is none, or after MAX_BACKTRACKS.
        """
        offsets = [0] * len(self.buffers)
        remaining = [iter(self._candidates(0, offsets, limit_bytes))]
        for _ in range(MAX_BACKTRACKS + len(self.buffers)):
            offset = next(remaining[-1], None)
            if offset is None:
                remaining.pop()
                if not remaining:
                    return None
                continue
            offsets[len(remaining) - 1] = offset
            if len(remaining) == len(self.buffers):
                return self._arena(offsets)
            remaining.append(iter(self._candidates(len(remaining), offsets, limit_bytes)))
        return None

    def _candidates(self, number: int, offsets: Sequence[int], limit_bytes: float) -> list[int]:
        """Return the offsets to try for a buffer, lowest first, given the offsets of those before it in the order."""
        constraints = [(offsets[index], each) for index, each in self.constraints[number]]
        highest = limit_bytes - self.buffers[number].size_bytes
        ends = {0, *(other - end for other, each in constraints for end in each.breakpoints)}
        if highest < inf:
            ends.add(int(highest))  # at the end of the arena, so that an in-place output can begin before it
        return sorted(
            offset
            for offset in ends
            if 0 <= offset <= highest and all(each.allows(other - offset) for other, each in constraints)
        )

    def _arena(self, offsets: Sequence[int]) -> Arena[Key]:
        ends = (offset + buffer.size_bytes for offset, buffer in zip(offsets, self.buffers, strict=True))
        return Arena({buffer.key: at for buffer, at in zip(self.buffers, offsets, strict=True)}, max(ends))


def allocate(buffers: Sequence[Buffer[Key]], enough_bytes: int = 0) -> Arena[Key]:
    """Return word-aligned offsets at which no two live buffers overlap except in-place, in a small arena.

    An arena of `enough_bytes` is not made smaller: it is never below that which is found without it.

    Allocates first-fit in several orders; after each, the buffer that ends highest moves to the front of the order.
    Then bisects for a smaller arena, with backtracking. The result is not always optimal, since the problem is NP-hard;
    `tests/memory/test_arena.py` bounds the gap to the largest sum of live sizes.
    """
    if not buffers:
        return Arena({}, 0)
    begin = min(buffer.first for buffer in buffers)
    numbers = {buffer.key: number for number, buffer in enumerate(buffers)}
    words = tuple(
        Buffer(
            number,
            aligned(buffer.size_bytes),
            buffer.first - begin,
            buffer.last - begin,
            tuple((numbers[key], in_place) for key, in_place in buffer.in_place if key in numbers),
        )
        for number, buffer in enumerate(buffers)
    )
    arena = _allocated(words, enough_bytes)
    return Arena({buffers[number].key: offset for number, offset in arena.offsets.items()}, arena.size_bytes)


@lru_cache(maxsize=1 << 14)  # the kernels of a layer, and layers in many places and splits, have equal buffers
def _allocated(words: tuple[Buffer[int], ...], enough_bytes: int) -> Arena[int]:
    bound_bytes = most_live_bytes(words)
    orders = _first_orders(words)
    least_bytes = max(bound_bytes, enough_bytes)
    best = _smallest((arena for order in orders for arena in _reordered(order, least_bytes)), least_bytes)
    if best.size_bytes <= least_bytes:
        return best
    bisected = (_bisected(order, bound_bytes, best) for order in map(FirstFit, orders[2:]))
    return _smallest(chain((best,), bisected), bound_bytes)


def _smallest(arenas: Iterator[Arena[Key]], bound_bytes: int) -> Arena[Key]:
    """Return the first of the smallest arenas; those after one that meets the lower bound are not computed."""
    best = next(arenas)
    while best.size_bytes > bound_bytes and (arena := next(arenas, None)):
        best = min(best, arena, key=lambda each: each.size_bytes)
    return best


def live_by_step(buffers: Iterable[Buffer[Key]]) -> Mapping[int, Sequence[Buffer[Key]]]:
    """Return the buffers that are live in each step, in their order."""
    live: dict[int, list[Buffer[Key]]] = defaultdict(list)
    for buffer in buffers:
        for step in range(buffer.first, buffer.last + 1):
            live[step].append(buffer)
    return live


def live_bytes(buffers: Sequence[Buffer[Key]]) -> int:
    """Return a lower bound in bytes on the arena in a step with these buffers, with all possible in-place overlap."""
    live = {buffer.key: buffer for buffer in buffers}
    shared = sum(
        max(0, in_place.shared_bytes(buffer.size_bytes, live[key].size_bytes))
        for buffer in buffers
        for key, in_place in buffer.in_place
        if key in live
    )
    return sum(buffer.size_bytes for buffer in buffers) - shared


def most_live_bytes(buffers: Sequence[Buffer[Key]]) -> int:
    """Return the largest of these bounds, which is in a step where a buffer begins; 0 without buffers."""
    live = live_by_step(buffers)
    return max((live_bytes(live[step]) for step in {buffer.first for buffer in buffers}), default=0)


def _first_orders(buffers: Sequence[Buffer[Key]]) -> list[list[Buffer[Key]]]:
    by_size = sorted(buffers, key=lambda buffer: (-buffer.size_bytes, buffer.first))
    by_lifetime = sorted(buffers, key=lambda buffer: (buffer.first - buffer.last, -buffer.size_bytes))
    by_start = sorted(buffers, key=lambda buffer: (buffer.first, -buffer.size_bytes))
    by_end = sorted(buffers, key=lambda buffer: (-buffer.last, buffer.first))  # output, input, scratch of each step
    return [by_size, by_lifetime, by_end, by_start[::-1], by_start]


def _reordered(buffers: list[Buffer[Key]], bound_bytes: int) -> Iterator[Arena[Key]]:
    """Yield the arenas of this order and of those derived from it, until one meets the lower bound or none is left."""
    for _ in range(MAX_REORDERINGS):
        arena = FirstFit(buffers).arena()
        if arena is None:
            return
        yield arena
        highest = max(buffers, key=lambda buffer: arena.offsets[buffer.key] + buffer.size_bytes)
        if arena.size_bytes <= bound_bytes or buffers[0] is highest:
            return
        buffers = [highest, *(buffer for buffer in buffers if buffer is not highest)]


def _bisected(order: FirstFit[Key], bound_bytes: int, best: Arena[Key]) -> Arena[Key]:
    """Return the smallest arena that bisection finds between `bound_bytes` and the size of `best`."""
    low, high = bound_bytes, best.size_bytes
    while low < high:
        middle = (low + high) // 2 // WORD_BYTES * WORD_BYTES
        found = order.arena(middle)
        if found is None:
            low = middle + WORD_BYTES
        else:
            best, high = found, found.size_bytes
    return best
