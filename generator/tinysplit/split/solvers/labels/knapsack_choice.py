"""Selects the boards whose knapsack bounds are most effective: those with little free flash."""

from collections.abc import Callable, Iterable
from math import inf

import numpy as np

from tinysplit.split.solvers.labels.knapsack import KnapsackBounds, bytes_per_cell
from tinysplit.split.solvers.labels.labels import Labels, join
from tinysplit.split.solvers.labels.multipliers import Multipliers
from tinysplit.split.solvers.labels.state_graph import Floats, Ints

MULTIPLIERS = 2  # per board; more hardly improve the bounds
MAX_CELLS, LEAST_CELLS = 2048, 32
TABLE_BYTES = 64_000_000  # all boards together
SAMPLE = 256  # labels on which the gains of boards are estimated, per layer
BOARDS_A_LAYER = 3
WORTH = 0.1  # share of the gap on the sample that a board has to close to be selected
OFTEN = 0.1  # share of the layers for which a helpful board is selected

# Raises the bounds of labels by those of some multipliers, and drops the labels that cannot be better.
Raise = Callable[[Labels, Floats, Ints], Labels]


class KnapsackChoice:
    """Knapsack bounds for the devices whose flash has a positive multiplier; `flash` has their resources."""

    def __init__(self, multipliers: Multipliers, flash: dict[int, int]) -> None:
        positive = {device: multipliers.weights[:, number].nonzero()[0] for device, number in flash.items()}
        self.chosen = {device: _spread(numbers) for device, numbers in positive.items() if len(numbers)}
        graph, target = multipliers.graph, multipliers.target
        cell_bytes = bytes_per_cell(graph, MULTIPLIERS) * max(1, len(self.chosen))
        n_cells = min(MAX_CELLS, TABLE_BYTES // cell_bytes + 1)
        if n_cells < min(LEAST_CELLS, MAX_CELLS):
            self.chosen = {}
        self.bounds = {
            device: KnapsackBounds(graph, target, multipliers.weights[numbers], device, flash[device], n_cells)
            for device, numbers in self.chosen.items()
        }
        self._n_taken = dict.fromkeys(self.bounds, 0)
        self._n_choices = 0

    @property
    def helpful(self) -> frozenset[int]:
        """Devices that were selected often; all if there was no selection."""
        return frozenset(device for device, taken in self._n_taken.items() if taken >= OFTEN * self._n_choices)

    def raised(self, done: int, labels: Labels, width: int, best: float, raise_bounds: Raise) -> Labels:
        """Return the labels whose bound is below `best`, with raised bounds.

        Labels that are not among the `width` lowest bounds keep their bounds.
        """
        if not self.bounds or not len(labels):
            return labels
        devices = self._take(done, labels, best)
        if not devices:
            return labels
        order = np.argsort(labels.bounds, kind="stable")
        first = self._by(devices, done, labels.take(order[: 2 * width]), raise_bounds)
        rest = labels.take(order[2 * width :])
        highest = np.partition(first.bounds, width)[width] if len(first) > width else inf
        promising = rest.bounds < highest
        return join([first, self._by(devices, done, rest.take(promising), raise_bounds), rest.take(~promising)])

    def _by(self, devices: Iterable[int], done: int, labels: Labels, raise_bounds: Raise) -> Labels:
        for device in devices:
            if len(labels):
                values = self.bounds[device].of(done, labels.node, labels.device, labels.values)
                labels = raise_bounds(labels, values, self.chosen[device])
        return labels

    def _take(self, done: int, labels: Labels, best: float) -> list[int]:
        """Return the devices that together raise the bounds of a sample most; all devices for few labels."""
        devices = list(self.bounds)
        if len(labels) <= 2 * SAMPLE:
            return devices
        some = labels.take(slice(None, None, -(-len(labels) // SAMPLE)))
        values = np.stack([self.bounds[i].of(done, some.node, some.device, some.values).max(axis=1) for i in devices])
        values = np.minimum(values, min(best, values[np.isfinite(values)].max(initial=0.0)))
        taken = [devices[row] for row in _strongest(values, some.bounds)]
        self._n_choices += 1
        for device in taken:
            self._n_taken[device] += 1
        return taken


def _strongest(values: Floats, reached: Floats) -> list[int]:
    """Return rows of `values` [device][label], chosen greedily by how much they raise `reached` [label]."""
    chosen: list[int] = []
    most = values.max()
    while len(chosen) < BOARDS_A_LAYER:
        gains = np.maximum(values - reached, 0.0).sum(axis=1)
        if gains.max() <= WORTH * np.maximum(most - reached, 0.0).sum():
            break
        chosen.append(int(gains.argmax()))
        reached = np.maximum(reached, values[chosen[-1]])
    return chosen


def _spread(numbers: Ints) -> Ints:
    """Return MULTIPLIERS evenly spaced elements of `numbers`."""
    return numbers[np.unique(np.linspace(0, len(numbers) - 1, MULTIPLIERS).astype(np.intp))]
