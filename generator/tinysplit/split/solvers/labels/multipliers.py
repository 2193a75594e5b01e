"""The Lagrangian multipliers of a search: fitted to the labels that a pass dropped, chosen for each layer."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tinysplit.split import clock
from tinysplit.split.problem import Assignment
from tinysplit.split.solvers.labels.lagrangian import BoundTables, RunGraph, State, Target
from tinysplit.split.solvers.labels.state_graph import Floats, Ints
from tinysplit.split.solvers.labels.subgradient import SubgradientAscent

KEPT = 40  # sets of multipliers
BOUNDS_A_LAYER = 8
FIRST_BOUNDS = 2  # strongest ones, which prune most labels
SAMPLE = 256  # labels on which the multipliers are compared, per layer


@dataclass(frozen=True, eq=False)
class Dropped:
    """A label that a pass dropped, and the weights that gave its bound."""

    bound: float
    done: int  # layers
    traced: Callable[[], Assignment]  # of these layers
    node: int
    values: Floats  # [resource]
    weights: Floats  # [resource]
    scale: float  # of the largest resource


class Multipliers:
    """Sets of multipliers, and the tables of their bounds."""

    def __init__(self, target: Target, graph: RunGraph, scale: float) -> None:
        self.target, self.root_scale = target, scale
        self.graph = graph  # with runs up to the incumbent
        self.weights = target.weights(scale)[None]  # [multiplier][resource]
        self.begin()

    def begin(self) -> None:
        """Compute the tables for a pass; multipliers that give the fewest bounds in it make place for new ones."""
        self.tables = BoundTables(self.graph, self.target, self.weights)
        self.scales = self.target.scales(self.weights)
        self.wins = np.zeros(len(self.weights))

    def fit(self, dropped: Sequence[Dropped], steps: int, best: float, deadline: float) -> Iterator[Assignment]:
        """Fit multipliers to the start and to some dropped labels; yield the shortest paths that may be better.

        `least` is then a lower bound of the objective.
        """
        some = sorted(_spread(dropped, self.graph.n_multipliers - 1), key=lambda drop: drop.done)
        entry = self.graph.graph.entry
        states = [
            State.of(self.graph, 0, np.arange(len(entry)), entry),
            *(State.of(self.graph, drop.done, np.array([drop.node]), drop.values[None]) for drop in some),
        ]
        weights = np.stack([self._strongest_at_start(), *(drop.weights for drop in some)])
        weights = self._scaled(weights, np.array([self.root_scale, *(drop.scale for drop in some)]))
        ascent = SubgradientAscent(self.graph, self.target, states, weights, best)
        prefixes: list[Assignment] = [(), *(drop.traced() for drop in some)]
        for paths in ascent.steps(steps):
            for state in self._promising(paths.totals, paths.exists, best):
                yield (*prefixes[state], *paths.devices(state))
            if clock.now() > deadline:
                break
        self.least = float(ascent.values[0])
        kept = np.argsort(-self.wins, kind="stable")[: KEPT - len(some)]
        self.weights = np.vstack([ascent.weights, self.weights[kept]])

    def _strongest_at_start(self) -> Floats:
        entry = self.graph.graph.entry
        every = np.arange(len(self.weights))
        values = self.tables.of(0, np.arange(len(entry)), entry, every).min(axis=0)
        values[self.scales > self.root_scale] = -np.inf
        return np.asarray(self.weights[int(values.argmax())])

    def _scaled(self, weights: Floats, scales: Floats) -> Floats:
        """Return the weights with these scales of the largest resource."""
        target = self.target
        before = target.scales(weights)[:, None]
        has_scale = before > 0
        shares = (weights - target.base) / np.where(has_scale, before, 1.0)
        shares = np.where(has_scale, shares, target.weights(1.0) - target.base)
        return np.where(target.largest, target.base + scales[:, None] * shares, weights)

    def _promising(self, totals: Floats, exists: Ints, best: float) -> Iterator[int]:
        """Yield the path with the least objective, if it may be better and keeps the limits."""
        target = self.target
        largest = totals[:, target.largest].max(axis=1)
        values = totals @ target.base + self.root_scale * largest
        values[~exists | (totals > target.limits).any(axis=1)] = np.inf
        state = int(values.argmin())
        if values[state] < best:
            yield state

    def choose(self, done: int, nodes: Ints, values: Floats, bounds: Floats, best: float) -> Ints:
        """Return BOUNDS_A_LAYER multipliers, chosen greedily by the bounds of a sample of labels."""
        n_sets = len(self.weights)
        if n_sets <= FIRST_BOUNDS or not len(nodes):
            return np.arange(n_sets)
        some = slice(None, None, -(-len(nodes) // SAMPLE))
        found = self.tables.of(done, nodes[some], values[some], np.arange(n_sets))
        found = np.minimum(found, best if np.isfinite(best) else found[np.isfinite(found)].max(initial=0.0))
        np.add.at(self.wins, found.argmax(axis=1), 1)
        chosen: list[int] = []
        reached = bounds[some, None]
        while len(chosen) < min(n_sets, BOUNDS_A_LAYER):
            chosen.append(int(np.maximum(found, reached).sum(axis=0).argmax()))
            if (found <= found[:, chosen[-1], None]).all() or (len(chosen) > 1 and chosen[-1] in chosen[:-1]):
                break
            reached = np.maximum(reached, found[:, chosen[-1], None])
        return np.array(list(dict.fromkeys(chosen)))


def _spread(dropped: Sequence[Dropped], most: int) -> Sequence[Dropped]:
    """Return at most `most` of the dropped labels, spread evenly over their bounds."""
    ordered = sorted(dropped, key=lambda drop: drop.bound)
    return ordered[:: -(-len(ordered) // most)] if ordered and most > 0 else []
