"""Where tensors lie in a board's memory: static offsets from the steps in which each of them is needed."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from tinysplit.split.memory import aligned

Key = TypeVar("Key", bound=Hashable)
ATTEMPTS = 64  # orders that are tried; the first few are nearly always good enough


@dataclass(frozen=True)
class Block(Generic[Key]):
    """Bytes that are needed from step `first` to step `last`, both included.

    `leads` is for the output of a layer that may write over its inputs while it reads them: by how many bytes the
    output has to begin before each of them.
    """

    key: Key
    size_bytes: int
    first: int
    last: int
    leads: tuple[tuple[Key, int], ...] = ()

    def meets(self, other: "Block[Key]") -> bool:
        """Return whether both are needed at once."""
        return self.first <= other.last and other.first <= self.last

    def forbidden(self, other: "Block[Key]", offset: int) -> tuple[int, int]:
        """Return the open interval in which this block must not begin while `other` lies at `offset`."""
        lead, trail = dict(self.leads).get(other.key), dict(other.leads).get(self.key)
        below = self.size_bytes if lead is None else min(lead, self.size_bytes)
        above = other.size_bytes if trail is None else min(trail, other.size_bytes)
        return offset - below, offset + above


@dataclass(frozen=True)
class Arena(Generic[Key]):
    """A memory of `size_bytes` with the offset of every block."""

    offsets: Mapping[Key, int]
    size_bytes: int


def place(blocks: Sequence[Block[Key]]) -> Arena[Key]:
    """Return offsets on words such that no two blocks that are needed at once overlap, in a small arena.

    Every block goes to the lowest place that is free. Some order of the blocks gives the smallest arena in that way
    (that in which they lie in it), so orders are tried: the largest first, then again and again with the block that
    reached highest moved to the front. Not always optimal: that is NP-hard; `test_arena.py` says how close it comes.
    """
    words = [Block(b.key, aligned(b.size_bytes), b.first, b.last, b.leads) for b in blocks]
    arenas = (arena for order in _first_orders(words) for arena in _improved(order))
    return min(arenas, key=lambda arena: arena.size_bytes, default=Arena({}, 0))


def _improved(order: list[Block[Key]]) -> Iterator[Arena[Key]]:
    """Yield the arena of `order`, then of others that it leads to, until one cannot be better or the first repeats."""
    least_bytes = _least_bytes(order)
    for _ in range(ATTEMPTS):
        arena = _placed(order)
        yield arena
        highest = max(order, key=lambda block: arena.offsets[block.key] + block.size_bytes)
        if arena.size_bytes <= least_bytes or order[0] is highest:
            return
        order = [highest, *(block for block in order if block is not highest)]


def _first_orders(blocks: Sequence[Block[Key]]) -> list[list[Block[Key]]]:
    if not blocks:
        return []
    by_size = sorted(blocks, key=lambda block: (-block.size_bytes, block.first))
    by_length = sorted(blocks, key=lambda block: (block.first - block.last, -block.size_bytes))
    outputs_first = sorted(blocks, key=lambda block: (-block.size_bytes, -block.first))  # inputs behind them, by a lead
    return [by_size, by_length, outputs_first, sorted(blocks, key=lambda block: block.first)]


def _least_bytes(blocks: Sequence[Block[Key]]) -> int:
    """Return a size below which no arena can be: that of the blocks needed at once, those with leads left out."""
    alive = (
        [other for other in blocks if other.first <= block.first <= other.last and not other.leads] for block in blocks
    )
    return max(*(sum(block.size_bytes for block in some) for some in alive), *(b.size_bytes for b in blocks))


def _placed(order: Sequence[Block[Key]]) -> Arena[Key]:
    offsets: dict[Key, int] = {}
    done: list[Block[Key]] = []
    for block in order:
        walls = [block.forbidden(other, offsets[other.key]) for other in done if block.meets(other)]
        places = sorted({0, *(high for _, high in walls)})
        offsets[block.key] = next(at for at in places if at >= 0 and not any(low < at < high for low, high in walls))
        done.append(block)
    return Arena(offsets, max(offsets[block.key] + block.size_bytes for block in order))
