"""Labels: partial assignments that end in a state of the graph, one per row, and dominance between them."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from tinysplit.split.solvers.labels.state_graph import Floats, Ints, Masks

LEADERS = 8  # labels of each group that the others are compared with


@dataclass(frozen=True, eq=False)
class Labels:
    """Partial assignments of the same number of layers. What does not count in a problem has no columns."""

    node: Ints
    values: Floats  # label x resource
    used: Masks  # devices that run a layer, a bit each
    powered: Masks  # devices that run a layer or relay a tensor
    device: Ints  # of the last layer
    begun: Floats  # label x device: when it began, infinite for not yet
    longest_s: Floats  # span of a device so far
    memory: Floats  # label x 2 tight devices (`links.py`): most RAM of the arena, RAM of the links
    peers: Masks  # label x watched device: the devices that it has links with
    bounds: Floats  # lower bounds of the objective
    parent: Ints  # row of the label without the last layer
    strongest: Ints  # number of the multipliers that gave the bound

    def __len__(self) -> int:
        return len(self.node)

    def take(self, rows: Ints | NDArray[np.bool_] | slice) -> "Labels":
        """Return the labels of `rows`."""
        return Labels(*(getattr(self, name)[rows] for name in _NAMES))

    def with_bounds(self, bounds: Floats) -> "Labels":
        """Return the labels with other bounds."""
        return replace(self, bounds=bounds)

    def from_parents(self, rows: Ints) -> "Labels":
        """Return the labels, whose parents are numbered among `rows`."""
        return replace(self, parent=rows[self.parent])

    def raised(self, values: Floats, numbers: Ints) -> "Labels":
        """Return the labels with bounds raised to the largest of `values`, those of the multipliers `numbers`."""
        best = values.argmax(axis=1)
        bounds = values[np.arange(len(values)), best]
        higher = bounds > self.bounds
        strongest = np.where(higher, numbers[best], self.strongest)
        return replace(self, bounds=np.where(higher, bounds, self.bounds), strongest=strongest)


_NAMES = tuple(field.name for field in fields(Labels))


def join(parts: Sequence[Labels]) -> Labels:
    """Return the concatenated labels."""
    if len(parts) == 1:
        return parts[0]
    return Labels(*(np.concatenate([getattr(part, name) for part in parts]) for name in _NAMES))


def undominated(groups: Sequence[Ints | Masks], values: Floats, sets: Masks) -> Ints:
    """Return the rows that no compared row of the same group dominates, that is, is no larger in every value and set.

    Each row is compared with the `LEADERS` of its group whose sums are smallest, so some dominated rows stay.
    `values` are [label][value], `sets` [label][set].
    """
    scale = values.max(axis=0, initial=0.0)
    total = (values / np.where(scale > 0, scale, 1.0)).sum(axis=1)
    rows = np.lexsort((total, *groups))
    for leader in range(LEADERS):
        starts = _starts([group[rows] for group in groups])
        position = np.arange(len(rows))
        leads = position[starts][np.cumsum(starts) - 1] + leader
        later = np.flatnonzero(leads < position)
        if not len(later):
            break
        least, others = rows[leads[later]], rows[later]
        dominated = (values[least] <= values[others]).all(axis=1)
        if sets.shape[1]:
            dominated &= ((sets[least] & ~sets[others]) == 0).all(axis=1)
        rows = np.delete(rows, later[dominated])
    return rows


def _starts(groups: Sequence[Ints | Masks]) -> NDArray[np.bool_]:
    """Return whether each row is the first of its group."""
    is_first = np.ones(len(groups[0]), dtype=bool)
    is_first[1:] = np.any([group[1:] != group[:-1] for group in groups], axis=0)
    return is_first
