"""Pareto fronts: the items that no other item dominates."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def non_dominated(items: Iterable[Item], quantities: Callable[[Item], Sequence[float]]) -> tuple[Item, ...]:
    """Return the items that no other item dominates: is at most as large in all `quantities`. Of equals, the first.

    The result is sorted by the quantities. O(n m) for n items and m on the front.
    """
    front: list[tuple[tuple[float, ...], Item]] = []
    for item in sorted(items, key=lambda item: tuple(quantities(item))):
        values = tuple(quantities(item))
        if not any(all(a <= b for a, b in zip(better, values, strict=True)) for better, _ in front):
            front.append((values, item))
    return tuple(item for _, item in front)
