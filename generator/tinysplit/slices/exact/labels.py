"""Labels: partial choices with the same options of all tensors that are still read, and which of them to keep."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from tinysplit.slices.exact.problem import Floats, Integers

MOST_COMPARED = 400  # labels of which each is compared with each


@dataclass(frozen=True, eq=False)
class Labels:
    """Arrays with an entry a label: begin, clock and flash by board; the bound; and the nodes of the search tree."""

    begin: Floats
    clock: Floats
    flash: Floats
    bounds: Floats
    nodes: Integers

    @classmethod
    def joined(cls, parts: list["Labels"]) -> "Labels":
        """Return all labels of several ones."""
        if len(parts) == 1:
            return parts[0]
        names = ("begin", "clock", "flash", "bounds", "nodes")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def __len__(self) -> int:
        return len(self.bounds)

    def taken(self, indices: Integers) -> Self:
        """Return some of the labels."""
        return replace(
            self,
            begin=self.begin[indices],
            clock=self.clock[indices],
            flash=self.flash[indices],
            bounds=self.bounds[indices],
            nodes=self.nodes[indices],
        )

    def best(self, width: int, n_best: int = 1) -> tuple[Self, Self]:
        """Return the `width` labels of the least bounds, and all others, without those that `n_best` ones dominate."""
        order = np.argsort(self.bounds, kind="stable")
        first = order[:MOST_COMPARED]
        costs = np.concatenate([self.begin[first], self.clock[first], self.flash[first]], axis=1)
        at_most = np.ones((len(first), len(first)), bool)  # [i][j]: i is nowhere worse than j
        for cost in costs.T:  # numpy reduces short axes slowly
            at_most &= cost[:, None] <= cost
        is_first = np.arange(len(first))[:, None] < np.arange(len(first))
        dominated = (at_most & (is_first | ~at_most.T)).sum(axis=0) >= n_best
        kept = first[~dominated]
        return self.taken(kept[:width]), self.taken(np.concatenate([kept[width:], order[MOST_COMPARED:]]))

    def merged(self, others: "Labels") -> Self:
        """Return the labels, each lowered to those of `others` to which it is nearest: what follows is a bound."""
        if not len(others):
            return self
        own = np.concatenate([self.begin, self.clock], axis=1)
        lost = np.maximum(own[None] - np.concatenate([others.begin, others.clock], axis=1)[:, None], 0.0)
        nearest = lost.sum(axis=2).argmin(axis=1)
        begin, clock, flash, bounds = self.begin.copy(), self.clock.copy(), self.flash.copy(), self.bounds.copy()
        for mine, its in (
            (begin, others.begin),
            (clock, others.clock),
            (flash, others.flash),
            (bounds, others.bounds),
        ):
            np.minimum.at(mine, nearest, its)
        return replace(self, begin=begin, clock=clock, flash=flash, bounds=bounds)
