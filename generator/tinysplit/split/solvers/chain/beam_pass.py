"""One pass of the beam search over a chain: layer by layer, with at most `width` labels after each.

Dominance compares labels of the same state: the same last device, the same free flash (up to the flash of the layers
left), and the same set of used devices if the rules need it. A label that is no better in any resource is dropped. Of
the remaining labels, those with the smallest lower bounds are kept.
"""

from collections.abc import Collection
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tinysplit.split import clock
from tinysplit.split.solvers.chain.knapsack_choice import KnapsackChoice
from tinysplit.split.solvers.chain.labels import Bits, ChainLabels
from tinysplit.split.solvers.chain.lagrangian import ROUNDING, LagrangianBounds, Runs
from tinysplit.split.solvers.chain.resources import Bools, Floats, Ints

BLOCK_NUMBERS = 1_000_000  # resources of the labels created between two readings of the clock: 8 MB
BOUNDS_A_LAYER = 8
FIRST_BOUNDS = 2  # strongest ones, which prune most labels
SAMPLE = 256  # labels on which the multipliers are compared, per layer
COMPARED = 8  # number of labels of the same state that each label is compared with, ordered by totals
EXAMPLES = (0.0, 0.25, 0.5)  # quantiles of the bounds of dropped labels that are recorded, per layer

History = list[tuple[NDArray[np.int32], NDArray[np.uint8]]]  # by layer: parents and devices of the labels


class Rules(NamedTuple):
    """Rules on the devices used. Interchangeable devices are used in their order, to break symmetry."""

    must_use_all: bool
    earlier_interchangeable: tuple[tuple[int, ...], ...]  # by device: the interchangeable ones before it

    @property
    def need_used(self) -> bool:
        """Whether the set of used devices is part of the state."""
        return self.must_use_all or any(self.earlier_interchangeable)


class Dropped(NamedTuple):
    """A dropped label, and the multipliers that gave its bound."""

    bound: float
    devices: list[int]
    totals: Floats
    multipliers: Floats


class BeamPass:
    """One pass: `dropped_bound` is the smallest bound dropped, `value` the best objective, `devices` its assignment.

    Kept labels also get knapsack bounds for the devices in `knapsack_devices` (`knapsack_choice.py`).
    """

    def __init__(
        self,
        runs: Runs,
        multipliers: Floats,
        rules: Rules,
        best: float,
        width: int,
        deadline: float,
        knapsack_devices: Collection[int] = (),
    ) -> None:
        self.resources, self.runs, self.rules = runs.resources, runs, rules
        self.best, self.width, self.deadline = best, width, deadline
        self.caps = limits_below(runs, best)
        self.bounds = LagrangianBounds(runs, multipliers, runs.farthest_ends(self.caps))
        self.knapsack = KnapsackChoice(runs.resources, multipliers, knapsack_devices)
        self.wins = np.zeros(len(multipliers))  # how often each of the multipliers gave the highest bound
        self.dropped_bound, self.value = inf, inf
        self.devices: list[int] = []
        self._dropped: list[tuple[int, ChainLabels]] = []  # with the number of layers before their last one
        self.explored = 0
        # Weights of a hash of states; states with equal hashes are compared.
        self._hash_weights = np.random.default_rng(0).integers(1, 2**62, self.resources.n_devices + 2)
        self._history: History = []

    def run(self) -> None:
        """Extend labels through all layers, or until the time limit."""
        labels = self._root()
        for layer in range(self.resources.n_layers):
            opened = self._open(layer, labels)
            if opened is None:
                self.dropped_bound = min(self.dropped_bound, float(labels.bounds.min()))
                return
            labels = opened
            self.explored += len(labels)
            if not len(labels):
                return
            self._history.append((labels.parents.astype(np.int32), labels.device.astype(np.uint8)))
        values = labels.totals[:, : self.resources.n_objective].max(axis=1)
        row = int(values.argmin())
        self.value, self.devices = float(values[row]), self._trace(row, self.resources.n_layers)

    def dropped(self) -> list[Dropped]:
        """Return examples of the dropped labels."""
        return [
            Dropped(
                bound=float(labels.bounds[row]),
                devices=[*self._trace(int(labels.parents[row]), n_before), int(labels.device[row])],
                totals=labels.totals[row],
                multipliers=self.bounds.multipliers[labels.strongest[row]],
            )
            for n_before, labels in self._dropped
            for row in range(len(labels))
        ]

    def _root(self) -> ChainLabels:
        zero = np.zeros(1, dtype=np.intp)
        bound = self.bounds.least()
        totals = np.zeros((1, len(self.caps)))
        return ChainLabels(totals, bound.max(keepdims=True), zero, np.zeros(1, dtype=np.uint64), zero, zero)

    def _trace(self, row: int, n_layers: int) -> list[int]:
        devices: list[int] = []
        for parents, device in reversed(self._history[:n_layers]):
            devices.append(int(device[row]))
            row = int(parents[row])
        return devices[::-1]

    def _open(self, layer: int, labels: ChainLabels) -> ChainLabels | None:
        """Return the labels extended by `layer`, or None if the time is over."""
        remaining = self.bounds.remaining(layer + 1)
        chosen: Ints | None = None
        found = labels.take(slice(0, 0))
        step = self.resources.step(layer)
        size = BLOCK_NUMBERS // step[0].size + 1
        for first in range(0, len(labels), size):
            if clock.now() > self.deadline:
                return None
            children = self._children(layer, step, labels, slice(first, first + size))
            chosen = self._chosen(remaining, layer + 1, children) if chosen is None else chosen
            found = found.joined(self._bounded(remaining, layer + 1, children, chosen))
            if len(found) > 4 * self.width:  # rarely are more than half of the labels dominated
                found = self._narrowed(layer + 1, found, 2 * self.width)
        return self._narrowed(layer + 1, found.take(self._undominated(layer + 1, found)), self.width)

    def _children(self, layer: int, step: Floats, labels: ChainLabels, block: slice) -> ChainLabels:
        """Return the extensions of a block of labels within all limits, with the bounds of their parents."""
        device, used = labels.device[block], labels.used[block]
        totals = labels.totals[block, None] + step[device]
        good = (totals <= self.caps).all(axis=2)
        if self.rules.need_used:
            good &= self._keeps_rules(layer, used)
        rows, device = np.nonzero(good)
        bits = np.uint64(1) << device.astype(np.uint64)
        parents = rows + block.start
        return ChainLabels(
            totals[rows, device], labels.bounds[parents], device, used[rows] | bits, parents, labels.strongest[parents]
        )

    def _keeps_rules(self, layer: int, used: Bits) -> Bools:
        """Return [label][device] whether the next layer may be on a device by the rules."""
        n_devices = self.resources.n_devices
        is_used = (used[:, None] >> np.arange(n_devices, dtype=np.uint64) & np.uint64(1)).astype(bool)
        good = np.ones_like(is_used)
        for device, earlier in enumerate(self.rules.earlier_interchangeable):
            good[:, device] = is_used[:, list(earlier)].all(axis=1)
        if self.rules.must_use_all:
            unused = n_devices - is_used.sum(axis=1)[:, None] - ~is_used
            good &= unused <= self.resources.n_layers - 1 - layer
        return good

    def _longest_runs(self, done: int, labels: ChainLabels) -> Ints:
        """Return by how many layers the last run of each label can be extended."""
        ends = np.full(len(labels), done)
        for device in range(self.resources.n_devices):
            (rows,) = (labels.device == device).nonzero()
            if len(rows):
                ends[rows] = self.runs.ends(done, device, self.caps - labels.totals[rows])
        return np.asarray(np.maximum(ends - done, 0))

    def _chosen(self, remaining: Floats, done: int, labels: ChainLabels) -> Ints:
        """Return BOUNDS_A_LAYER multipliers, chosen greedily by the bounds of a sample of the labels."""
        n_multipliers = remaining.shape[2]
        if n_multipliers <= BOUNDS_A_LAYER or not len(labels):
            return np.arange(n_multipliers)
        sample = labels.take(slice(None, None, -(-len(labels) // SAMPLE)))
        values = sample.totals @ self.bounds.multipliers.T + remaining[self._longest_runs(done, sample), sample.device]
        values = np.minimum(values, self.best)
        np.add.at(self.wins, values.argmax(axis=1), 1)
        chosen: list[int] = []
        reached = sample.bounds[:, None]
        while len(chosen) < BOUNDS_A_LAYER:
            chosen.append(int(np.maximum(values, reached).sum(axis=0).argmax()))
            reached = np.maximum(reached, values[:, chosen[-1], None])
        return np.array(chosen)

    def _bounded(self, remaining: Floats, done: int, labels: ChainLabels, chosen: Ints) -> ChainLabels:
        """Return the labels with their bounds, those that cannot improve on the incumbent pruned.

        The strongest multipliers are evaluated first, because they prune most labels.
        """
        index = self._longest_runs(done, labels) * self.resources.n_devices + labels.device
        for some in (chosen[:FIRST_BOUNDS], chosen[FIRST_BOUNDS:]):
            if len(some) and len(labels):
                values = remaining[:, :, some].reshape(-1, len(some)).take(index, axis=0)
                values += labels.totals @ self.bounds.multipliers[some].T
                labels = labels.raised(values, some)
                good = labels.bounds < self.best * (1 - ROUNDING)
                labels, index = labels.take(good), index[good]
        return labels

    def _undominated(self, done: int, labels: ChainLabels) -> Ints:
        """Return the labels that are not dominated; free flash beyond that of the layers left is ignored."""
        n_devices = self.resources.n_devices
        enough = self.resources.limits[-n_devices:] - self.resources.flash_left[done]
        flash = np.maximum(labels.totals[:, -n_devices:], enough).astype(np.int64)
        used = labels.used if self.rules.need_used else np.zeros_like(labels.used)
        states = np.column_stack([flash, labels.device, used.astype(np.int64)])
        others = labels.totals[:, :-n_devices]
        keys = states @ self._hash_weights
        order = np.lexsort((others.sum(axis=1), keys))
        keys, states, others = keys[order], states[order], others[order]
        dominated = np.zeros(len(order), dtype=bool)
        for shift in range(1, min(COMPARED + 1, len(order))):
            alike = np.flatnonzero(keys[shift:] == keys[:-shift])
            alike = alike[(states[alike] == states[alike + shift]).all(axis=1)]
            if not len(alike):
                break
            dominated[alike[(others[alike] <= others[alike + shift]).all(axis=1)] + shift] = True
        return order[~dominated]

    def _narrowed(self, done: int, labels: ChainLabels, width: int) -> ChainLabels:
        """Return the labels with the `width` smallest bounds; record what is dropped."""
        labels = self.knapsack.raised(done, labels, width, self.best)
        if len(labels) <= width:
            return labels
        order = np.argpartition(labels.bounds, width)
        out = order[width:]
        out = out[np.argsort(labels.bounds[out])]
        self.dropped_bound = min(self.dropped_bound, float(labels.bounds[out[0]]))
        examples = labels.take(np.unique([out[int(len(out) * share)] for share in EXAMPLES]))
        self._dropped.append((len(self._history), examples))
        return labels.take(order[:width])


def limits_below(runs: Runs, best: float) -> Floats:
    """Return upper limits of all resources for a split that improves on `best`."""
    caps = runs.resources.limits.copy()
    caps[: runs.resources.n_objective] = best * (1 - ROUNDING)
    return caps
