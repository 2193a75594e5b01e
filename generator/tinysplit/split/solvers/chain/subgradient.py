"""Subgradient ascent (Polyak steps) for Lagrangian multipliers, for the bounds of many states at once."""

from collections.abc import Iterator
from math import isfinite

import numpy as np

from tinysplit.split.solvers.chain.lagrangian import Completions, LagrangianBounds, Runs, States
from tinysplit.split.solvers.chain.resources import Floats, Ints

PATIENCE = 3  # steps that did not raise a bound before its steps become shorter
SHORTENING = 0.7
AIM_WITHOUT_INCUMBENT = 1.3  # of the bound


class SubgradientAscent:
    """The best multipliers so far, one row a state, and the bounds that they give.

    What is overfull becomes dearer, other limits cheaper, and the rows of the objective share a weight of one: a step
    in the direction of the totals of the cheapest way, as long as would reach `aim` if the bound were linear (Polyak).
    """

    def __init__(self, runs: Runs, states: States, multipliers: Floats, caps: Floats, aim: float) -> None:
        self.runs, self.states, self.caps, self.aim = runs, states, caps, aim
        self.whole: Ints = runs.whole(caps)
        self.multipliers = multipliers
        self.values = np.full(len(multipliers), -np.inf)

    def steps(self, count: int) -> Iterator[Completions]:
        """Take steps, and yield the cheapest ways on that each one meets."""
        current = self.multipliers
        stride, misses = np.ones(len(current)), np.zeros(len(current))
        start = int(self.states.done.min())
        for _ in range(count):
            ways = LagrangianBounds(self.runs, current, self.whole, start).cheapest(self.states, self.caps)
            yield ways
            higher = ways.values > self.values
            self.values = np.where(higher, ways.values, self.values)
            self.multipliers = np.where(higher[:, None], current, self.multipliers)
            misses = np.where(higher, 0, misses + 1)
            stride = np.where(misses >= PATIENCE, stride * SHORTENING, stride)
            misses %= PATIENCE
            current = self._next(current, ways, stride)

    def _next(self, current: Floats, ways: Completions, stride: Floats) -> Floats:
        rows = self.runs.rows
        n = rows.n_objective
        aim = self._aim(ways)
        # In units of the limits and of the objective all multipliers are alike.
        unit = np.append(np.ones(n), np.where(rows.limits[n:] > 0, rows.limits[n:], 1.0) / aim)
        scaled = current * unit
        slope = ways.totals.copy()
        slope[:, :n] -= (current[:, :n] * slope[:, :n]).sum(axis=1, keepdims=True)
        slope[:, n:] -= rows.limits[n:]
        slope /= unit
        slope[:, n:] = np.where((scaled[:, n:] > 0) | (slope[:, n:] > 0), slope[:, n:], 0.0)
        square = (slope**2).sum(axis=1)
        short = np.maximum(0.0, aim - ways.values)  # nothing where there is no way
        length = stride * short / np.where(square > 0, square, 1.0)
        scaled += length[:, None] * slope
        scaled[:, :n] = _on_simplex(scaled[:, :n])
        scaled[:, n:] = np.maximum(0.0, scaled[:, n:])
        return np.asarray(scaled / unit)

    def _aim(self, ways: Completions) -> float:
        if isfinite(self.aim):
            return self.aim or 1.0
        return AIM_WITHOUT_INCUMBENT * float(ways.values[ways.open].max(initial=0.0)) or 1.0


def _on_simplex(points: Floats) -> Floats:
    """Return the nearest points with coordinates from 0 on that sum to one (Held, Wolfe and Crowder)."""
    falling = np.sort(points, axis=1)[:, ::-1]
    excess = np.cumsum(falling, axis=1) - 1
    counts = np.arange(1, points.shape[1] + 1)
    n_positive = (falling * counts > excess).sum(axis=1)
    return np.asarray(np.maximum(0.0, points - (excess[np.arange(len(points)), n_positive - 1] / n_positive)[:, None]))
