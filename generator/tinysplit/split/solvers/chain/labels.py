"""Labels of a chain: partial assignments as arrays, one a row."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tinysplit.split.solvers.chain.resources import Bools, Floats, Ints

Bits = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class ChainLabels:
    """Partial assignments of the same number of layers, one a row."""

    totals: Floats
    bounds: Floats
    device: Ints  # of the last layer
    used: Bits
    parents: Ints
    strongest: Ints  # which multipliers gave the bound

    def __len__(self) -> int:
        return len(self.bounds)

    def take(self, rows: Ints | Bools | slice) -> "ChainLabels":
        """Return some of the labels."""
        return ChainLabels(
            self.totals[rows],
            self.bounds[rows],
            self.device[rows],
            self.used[rows],
            self.parents[rows],
            self.strongest[rows],
        )

    def raised(self, values: Floats, multipliers: Ints) -> "ChainLabels":
        """Return the same with `values` [label][multiplier] as bounds where they are higher."""
        best = values.argmax(axis=1)
        bounds = values[np.arange(len(values)), best]
        higher = bounds > self.bounds
        strongest = np.where(higher, multipliers[best], self.strongest)
        return replace(self, bounds=np.where(higher, bounds, self.bounds), strongest=strongest)

    def joined(self, other: "ChainLabels") -> "ChainLabels":
        """Return these and `other`."""
        return ChainLabels(
            np.concatenate([self.totals, other.totals]),
            np.concatenate([self.bounds, other.bounds]),
            np.concatenate([self.device, other.device]),
            np.concatenate([self.used, other.used]),
            np.concatenate([self.parents, other.parents]),
            np.concatenate([self.strongest, other.strongest]),
        )
