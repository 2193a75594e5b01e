"""Subgradient ascent with Polyak steps for Lagrangian multipliers, vectorised over states."""

from collections.abc import Iterator
from math import isfinite

import numpy as np

from tinysplit.split.solvers.chain.lagrangian import Completions, LagrangianBounds, Runs, States
from tinysplit.split.solvers.chain.resources import Floats, Ints

PATIENCE = 3  # steps without a higher bound, after which the step length is reduced
SHORTENING = 0.7
AIM_WITHOUT_INCUMBENT = 1.3  # times the bound


class SubgradientAscent:
    """The best multipliers found, [state][resource], and their bounds, [state].

    A step follows the subgradient: the resources of the shortest path less the limits. Its length is the one that would
    reach `aim`, the objective of the incumbent, if the bound were linear (Polyak). The multipliers of the objective's
    resources stay on the unit simplex, the others at least 0.
    """

    def __init__(self, runs: Runs, states: States, multipliers: Floats, caps: Floats, aim: float) -> None:
        self.runs, self.states, self.caps, self.aim = runs, states, caps, aim
        self.farthest: Ints = runs.farthest_ends(caps)
        self.multipliers = multipliers
        self.values = np.full(len(multipliers), -np.inf)

    def steps(self, count: int) -> Iterator[Completions]:
        """Take `count` steps, and yield the shortest paths of each."""
        current = self.multipliers
        stride, misses = np.ones(len(current)), np.zeros(len(current))
        start = int(self.states.done.min())
        for _ in range(count):
            paths = LagrangianBounds(self.runs, current, self.farthest, start).shortest_paths(self.states, self.caps)
            yield paths
            higher = paths.values > self.values
            self.values = np.where(higher, paths.values, self.values)
            self.multipliers = np.where(higher[:, None], current, self.multipliers)
            misses = np.where(higher, 0, misses + 1)
            stride = np.where(misses >= PATIENCE, stride * SHORTENING, stride)
            misses %= PATIENCE
            current = self._next(current, paths, stride)

    def _next(self, current: Floats, paths: Completions, stride: Floats) -> Floats:
        resources = self.runs.resources
        n = resources.n_objective
        aim = self._aim(paths)
        # Scaled by the limits and the objective, so that multipliers are comparable.
        unit = np.append(np.ones(n), np.where(resources.limits[n:] > 0, resources.limits[n:], 1.0) / aim)
        scaled = current * unit
        slope = paths.totals.copy()
        slope[:, :n] -= (current[:, :n] * slope[:, :n]).sum(axis=1, keepdims=True)
        slope[:, n:] -= resources.limits[n:]
        slope /= unit
        slope[:, n:] = np.where((scaled[:, n:] > 0) | (slope[:, n:] > 0), slope[:, n:], 0.0)
        square = (slope**2).sum(axis=1)
        short = np.maximum(0.0, aim - paths.values)  # 0 without a path
        length = stride * short / np.where(square > 0, square, 1.0)
        scaled += length[:, None] * slope
        scaled[:, :n] = _on_simplex(scaled[:, :n])
        scaled[:, n:] = np.maximum(0.0, scaled[:, n:])
        return np.asarray(scaled / unit)

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
