"""Labels of a chain: partial assignments as arrays with one row per label."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tinysplit.split.solvers.chain.resources import Bools, Floats, Ints

Bits = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class ChainLabels:
    """Partial assignments of the same number of layers, one row per label."""

    totals: Floats  # [label][resource]
    bounds: Floats  # lower bounds of the objective
    device: Ints  # of the last layer
    used: Bits  # bit set of the devices used
    parents: Ints  # row of the label without the last layer
    strongest: Ints  # index of the multipliers that gave the bound

    def __len__(self) -> int:
        return len(self.bounds)

    def take(self, rows: Ints | Bools | slice) -> "ChainLabels":
        """Return the labels of `rows`."""
        return ChainLabels(
            self.totals[rows],
            self.bounds[rows],
            self.device[rows],
            self.used[rows],
            self.parents[rows],
            self.strongest[rows],
        )

    def raised(self, values: Floats, multipliers: Ints) -> "ChainLabels":
        """Return the labels with bounds raised to the maximum of `values` [label][multiplier]."""
        best = values.argmax(axis=1)
        bounds = values[np.arange(len(values)), best]
        higher = bounds > self.bounds
        strongest = np.where(higher, multipliers[best], self.strongest)
        return replace(self, bounds=np.where(higher, bounds, self.bounds), strongest=strongest)

    def joined(self, other: "ChainLabels") -> "ChainLabels":
        """Return these labels followed by those of `other`."""
        return ChainLabels(
            np.concatenate([self.totals, other.totals]),
            np.concatenate([self.bounds, other.bounds]),
            np.concatenate([self.device, other.device]),
            np.concatenate([self.used, other.used]),
            np.concatenate([self.parents, other.parents]),
            np.concatenate([self.strongest, other.strongest]),
        )
