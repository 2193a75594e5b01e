"""Energy of partial ways: what devices draw while they wait depends on which of them are powered."""

from dataclasses import replace

import numpy as np

from tinysplit.split.problem import Problem
from tinysplit.split.solvers.dag.lagrangian import Price, Target, raise_bound, root_of
from tinysplit.split.solvers.dag.resources import BUSY, ENERGY, SHARED, Columns
from tinysplit.split.solvers.dag.state_graph import Floats, Frontier, Ints, Masks

STEPS = 40


class LabelEnergy:
    """Idle power times the period, for labels.

    Where inputs come at a given pace, a device is charged once, when it is first used. Elsewhere the period is only
    known at the end: joules without any waiting, plus idle power of what is powered times the least period, are an
    underestimate, and exact for complete ways where the period is a load.
    """

    def __init__(self, problem: Problem, columns: Columns, frontier: Frontier) -> None:
        self.idle_w = np.array([device.idle_w for device in problem.devices])
        self.frame_period_s = problem.frame_period_s
        self.column = columns.number[ENERGY, 0]
        self.paces = columns.of_kind(BUSY, SHARED)
        without_waiting = np.zeros(len(columns.number))
        without_waiting[self.column] = 1.0
        if not self.frame_period_s:
            without_waiting[columns.of_kind(BUSY)] = -self.idle_w
        unlimited = Target(np.full(len(without_waiting), np.inf), np.eye(len(without_waiting))[self.column] > 0)
        self.without_waiting = Price.at(frontier, unlimited, without_waiting)
        self.pace = self._pace(frontier, unlimited)

    def _pace(self, frontier: Frontier, unlimited: Target) -> Price:
        busy = np.zeros(len(unlimited.limits), dtype=bool)
        busy[self.paces] = True
        target = replace(unlimited, is_objective=busy)
        return raise_bound(frontier, target, root_of(frontier, target.weights()), target.weights(), np.inf, STEPS)

    @property
    def tells_powered_apart(self) -> bool:
        """Whether it matters which devices are powered."""
        return bool(self.idle_w.any())

    def first_use_j(self, before: Masks, powered: Masks) -> Floats:
        """Return the joules of waiting that devices are charged with which were off before."""
        return np.asarray(self._idle(powered & ~before) * self.frame_period_s)

    def least_j(self, done: int, nodes: Ints, values: Floats, powered: Masks, lower: Floats, spans: Floats) -> Floats:
        """Return an underestimate for each label.

        `lower` are underestimates of its columns at the end, `spans` of the period.
        """
        joules = np.asarray(lower[:, self.column])
        if self.frame_period_s:
            return joules
        pace = np.maximum.reduce([lower[:, self.paces].max(axis=1), self.pace.of(done, nodes, values), spans])
        active = self.without_waiting.of(done, nodes, values)
        return np.asarray(np.maximum(joules, active + self._idle(powered) * pace))

    def beating(self, values: Floats) -> Floats:
        """Return the joules without waiting: with less of these and shorter loads a label is better."""
        return np.asarray(values @ self.without_waiting.weights)

    def _idle(self, devices: Masks) -> Floats:
        """Return the idle power of some devices together."""
        bits = (devices[:, None] >> np.arange(len(self.idle_w), dtype=np.uint64)) & np.uint64(1)
        return np.asarray(bits @ self.idle_w)
