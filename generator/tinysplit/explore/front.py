"""Pareto fronts: the items that no other item dominates."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tinysplit.explore.axes import Axis
from tinysplit.explore.candidates import SetCandidate
from tinysplit.explore.evaluate import EvaluatedSplit

Item = TypeVar("Item")


@dataclass(frozen=True)
class FrontEntry:
    """A candidate on a front, one of its splits, its mean power, and the price of its boards."""

    candidate: SetCandidate
    point: EvaluatedSplit
    power_w: float
    price: float  # without prices, the number of boards

    def quantity(self, axis: Axis) -> float:
        """Return what an axis minimises, in seconds, joules, watts, or the unit of the prices."""
        match axis:
            case Axis.LATENCY:
                return self.point.latency_s
            case Axis.PERIOD:
                return self.point.period_s
            case Axis.ENERGY:
                return self.point.energy_j
            case Axis.POWER:
                return self.power_w
            case Axis.PRICE:
                return self.price


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
