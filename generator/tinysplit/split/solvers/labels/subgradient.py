"""Subgradient ascent with Polyak steps for Lagrangian multipliers, for several states at the same time."""

from collections.abc import Iterator, Sequence
from math import isfinite

import numpy as np

from tinysplit.split.solvers.labels.lagrangian import BoundTables, Completions, RunGraph, State, Target
from tinysplit.split.solvers.labels.state_graph import Floats

PATIENCE = 3  # steps without a higher bound, after which the step length is reduced
SHORTENING = 0.7
AIM_WITHOUT_INCUMBENT = 1.3  # times the bound


class SubgradientAscent:
    """The best multipliers found, [state][resource], and their bounds, [state].

    A step follows the subgradient: the resources of the shortest path less the limits. Its length is the one that would
    reach `aim`, the objective of the incumbent, if the bound were linear (Polyak). The weights of the largest resource
    stay on a simplex, the multipliers of limits at least 0.
    """

    def __init__(self, graph: RunGraph, target: Target, states: Sequence[State], weights: Floats, aim: float) -> None:
        self.graph, self.target, self.states, self.aim = graph, target, states, aim
        self.weights = weights
        self.scales = target.scales(weights)[:, None]
        self.values = np.full(len(weights), -np.inf)

    def steps(self, count: int) -> Iterator[Completions]:
        """Take `count` steps, and yield the shortest paths of each."""
        current = self.weights
        stride, misses = np.ones(len(current)), np.zeros(len(current))
        start = self.states[0].done
        for _ in range(count):
            paths = Completions(BoundTables(self.graph, self.target, current, start), self.states)
            yield paths
            higher = paths.values > self.values
            self.values = np.where(higher, paths.values, self.values)
            self.weights = np.where(higher[:, None], current, self.weights)
            misses = np.where(higher, 0, misses + 1)
            stride = np.where(misses >= PATIENCE, stride * SHORTENING, stride)
            misses %= PATIENCE
            moved = self._next(current, paths, stride)
            if (moved == current).all():
                return
            current = moved

    def _next(self, current: Floats, paths: Completions, stride: Floats) -> Floats:
        target, aim = self.target, self._aim(paths)
        largest, limited = target.largest, target.is_limited
        # Scaled by the limits and the objective, so that multipliers are comparable.
        unit = np.where(limited, np.where(limited, target.limits, 1.0) / aim, 1.0)
        scaled = (current - target.base) * unit
        shares = np.where(largest, scaled, 0.0) / np.where(self.scales > 0, self.scales, 1.0)
        slope = np.where(limited, paths.totals - np.where(limited, target.limits, 0.0), 0.0) / unit
        mean = (shares * paths.totals).sum(axis=1, keepdims=True)
        slope = np.where(largest, self.scales * (paths.totals - mean), slope)
        slope = np.where(largest | (scaled > 0) | (slope > 0), slope, 0.0)
        square = (slope**2).sum(axis=1)
        short = np.maximum(0.0, aim - paths.values)  # 0 without a path
        length = stride * short / np.where(square > 0, square, 1.0)
        moved = np.where(limited, np.maximum(0.0, scaled + length[:, None] * slope), scaled)
        moved[:, largest] = self.scales * _on_simplex((shares + length[:, None] * slope)[:, largest])
        return np.asarray(target.base + moved / unit)

    def _aim(self, paths: Completions) -> float:
        if isfinite(self.aim):
            return self.aim or 1.0
        return AIM_WITHOUT_INCUMBENT * float(paths.values[paths.exists].max(initial=0.0)) or 1.0


def _on_simplex(points: Floats) -> Floats:
    """Return the projections of `points` onto the unit simplex (Held, Wolfe and Crowder 1974)."""
    falling = np.sort(points, axis=1)[:, ::-1]
    excess = np.cumsum(falling, axis=1) - 1
    counts = np.arange(1, points.shape[1] + 1)
    n_positive = (falling * counts > excess).sum(axis=1)
    return np.asarray(np.maximum(0.0, points - (excess[np.arange(len(points)), n_positive - 1] / n_positive)[:, None]))
