"""Where tensors lie in a board's memory: static offsets from the steps in which each of them is needed."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, lcm
from typing import Generic, NamedTuple, TypeVar

from tinysplit.common.alignment import WORD_BYTES, aligned
from tinysplit.kernels.in_place import Lead

Key = TypeVar("Key", bound=Hashable)
ATTEMPTS = 16  # orders that are tried one after the other; the first few are nearly always good enough
MOST_PLACES = 1000  # that a search for an arena of one size takes back


@dataclass(frozen=True)
class Block(Generic[Key]):
    """Bytes that are needed from step `first` to step `last`, both included.

    `leads` is for what may be written over other blocks while these are read: a layer's output, a tensor that moves.
    """

    key: Key
    size_bytes: int
    first: int
    last: int
    leads: tuple[tuple[Key, Lead], ...] = ()

    def meets(self, other: "Block[Key]") -> bool:
        """Return whether both are needed at once."""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True)
class Arena(Generic[Key]):
    """A memory of `size_bytes` with the offset of every block."""

    offsets: Mapping[Key, int]
    size_bytes: int


class Rule(NamedTuple):
    """How far before another block one may begin: apart from it, or such that one is written over the other.

    All distances from `low` to `high` that are multiples of `unit` are allowed, those from `below` on, and those down
    from `-above`.
    """

    other: int  # in an order of blocks
    below: int
    above: int
    low: float
    high: float
    unit: int

    @classmethod
    def of(cls, block: Block[Key], other: Block[Key], index: int) -> "Rule":
        """Return the rule for `block`, with `other` at `index`."""
        own, its = dict(block.leads).get(other.key), dict(other.leads).get(block.key)
        lead = own or its
        unit = lcm(lead.unit_bytes, WORD_BYTES) if lead else 1
        least = -(-lead.least_bytes // unit) * unit if lead else 0
        low, high = (least, inf) if own else (-inf, -least) if its else (inf, -inf)
        return cls(index, block.size_bytes, other.size_bytes, low, high, unit)

    def allows(self, distance: int) -> bool:
        """Return whether the block may begin `distance` bytes before the other."""
        if distance >= self.below or -distance >= self.above:
            return True
        return self.low <= distance <= self.high and distance % self.unit == 0

    def ends(self) -> Iterator[int]:
        """Yield the distances at which something else begins to be allowed."""
        yield from (self.below, -self.above)
        yield from (int(end) for end in (self.low, self.high) if -self.above < end < self.below)


class Order(Generic[Key]):
    """Blocks in the order in which they get their places, and the rules that each has to keep."""

    def __init__(self, blocks: Sequence[Block[Key]]) -> None:
        """Take blocks whose sizes are words."""
        self.blocks = blocks
        self.rules = [
            [Rule.of(block, other, index) for index, other in enumerate(blocks[:number]) if block.meets(other)]
            for number, block in enumerate(blocks)
        ]

    def arena(self, limit_bytes: float = inf) -> Arena[Key] | None:
        """Return an arena of at most `limit_bytes`: every block at the lowest place that leaves one for the others.

        None when there is none, or when too many places were taken back.
        """
        offsets = [0] * len(self.blocks)
        left = [iter(self._places(0, offsets, limit_bytes))]
        for _ in range(MOST_PLACES + len(self.blocks)):
            at = next(left[-1], None)
            if at is None:
                left.pop()
                if not left:
                    return None
                continue
            offsets[len(left) - 1] = at
            if len(left) == len(self.blocks):
                return self._arena(offsets)
            left.append(iter(self._places(len(left), offsets, limit_bytes)))
        return None

    def _places(self, number: int, offsets: Sequence[int], limit_bytes: float) -> list[int]:
        """Return where a block may begin, given the offsets of those before it, the lowest place first."""
        rules, highest = self.rules[number], limit_bytes - self.blocks[number].size_bytes
        ends = {0, *(offsets[rule.other] - end for rule in rules for end in rule.ends())}
        if highest < inf:
            ends.add(int(highest))  # at the end, so that outputs may lie before it
        return sorted(
            at for at in ends if 0 <= at <= highest and all(rule.allows(offsets[rule.other] - at) for rule in rules)
        )

    def _arena(self, offsets: Sequence[int]) -> Arena[Key]:
        ends = (offset + block.size_bytes for offset, block in zip(offsets, self.blocks, strict=True))
        return Arena({block.key: at for block, at in zip(self.blocks, offsets, strict=True)}, max(ends))


def place(blocks: Sequence[Block[Key]]) -> Arena[Key]:
    """Return offsets on words such that no two blocks that are needed at once overlap, in a small arena.

    Every block goes to the lowest place that is free. Some order of the blocks gives the smallest arena in that way
    (that in which they lie in it), so orders are tried: the largest first, then again and again with the block that
    reached highest moved to the front. Then smaller arenas are searched for, taking places back. Not always optimal:
    that is NP-hard; `test_arena.py` says how close it comes.
    """
    if not blocks:
        return Arena({}, 0)
    words = [Block(b.key, aligned(b.size_bytes), b.first, b.last, b.leads) for b in blocks]
    least_bytes = max(least_at(words, block.first) for block in words)
    orders = _first_orders(words)
    best = min(
        (arena for order in orders for arena in _improved(order, least_bytes)), key=lambda arena: arena.size_bytes
    )
    searched = (_searched(order, least_bytes, best) for order in map(Order, orders[2:]))
    return min((best, *searched), key=lambda arena: arena.size_bytes)


def least_at(blocks: Sequence[Block[Key]], step: int) -> int:
    """Return how many bytes are needed at least in a step: what may lie over each other does so."""
    alive = {block.key: block for block in blocks if block.first <= step <= block.last}
    shared = sum(
        max(0, min(block.size_bytes, alive[key].size_bytes, block.size_bytes + alive[key].size_bytes - span))
        for block in alive.values()
        for key, lead in block.leads
        if key in alive and (span := max(block.size_bytes, alive[key].size_bytes + aligned(max(lead.least_bytes, 0))))
    )
    return sum(block.size_bytes for block in alive.values()) - shared


def _first_orders(blocks: Sequence[Block[Key]]) -> list[list[Block[Key]]]:
    by_size = sorted(blocks, key=lambda block: (-block.size_bytes, block.first))
    by_length = sorted(blocks, key=lambda block: (block.first - block.last, -block.size_bytes))
    by_time = sorted(blocks, key=lambda block: (block.first, -block.size_bytes))
    by_end = sorted(blocks, key=lambda block: (-block.last, block.first))  # output, input, buffers of each step
    return [by_size, by_length, by_end, by_time[::-1], by_time]


def _improved(blocks: list[Block[Key]], least_bytes: int) -> Iterator[Arena[Key]]:
    """Yield the arena of an order, then of others that it leads to, until one cannot be better or the first repeats."""
    for _ in range(ATTEMPTS):
        arena = Order(blocks).arena()
        if arena is None:
            return
        yield arena
        highest = max(blocks, key=lambda block: arena.offsets[block.key] + block.size_bytes)
        if arena.size_bytes <= least_bytes or blocks[0] is highest:
            return
        blocks = [highest, *(block for block in blocks if block is not highest)]


def _searched(order: Order[Key], least_bytes: int, best: Arena[Key]) -> Arena[Key]:
    """Return the smallest arena that bisection finds between `least_bytes` and the size of `best`."""
    low, high = least_bytes, best.size_bytes
    while low < high:
        middle = (low + high) // 2 // WORD_BYTES * WORD_BYTES
        found = order.arena(middle)
        if found is None:
            low = middle + WORD_BYTES
        else:
            best, high = found, found.size_bytes
    return best
