"""Energy of labels: the idle energy of a split depends on which devices are powered, and on the period."""

from dataclasses import replace

import numpy as np

from tinysplit.split.problem import Problem
from tinysplit.split.solvers.dag.lagrangian import LagrangianBound, Target, cheapest_root, subgradient_ascent
from tinysplit.split.solvers.dag.resources import BUSY, ENERGY, SHARED, Resources
from tinysplit.split.solvers.dag.state_graph import Floats, Ints, Masks, StateGraph

STEPS = 40


class LabelEnergy:
    """Idle power times the period, for labels.

    With a given input period a device is charged once, when it is first used. Otherwise the period is known only at the
    end: energy without idling, plus the idle power of the powered devices times a lower bound of the period, is a lower
    bound, and exact for complete paths where the period is `load`.
    """

    def __init__(self, problem: Problem, resources: Resources, graph: StateGraph) -> None:
        self.idle_w = np.array([device.idle_w for device in problem.devices])
        self.frame_period_s = problem.frame_period_s
        self.must_use_all = problem.must_use_all
        self.resource = resources.number[ENERGY, 0]
        self.period_resources = resources.of_kind(BUSY, SHARED)
        without_waiting = np.zeros(len(resources.number))
        without_waiting[self.resource] = 1.0
        if not self.frame_period_s:
            without_waiting[resources.of_kind(BUSY)] = -self.idle_w
        unlimited = Target(np.full(len(without_waiting), np.inf), np.eye(len(without_waiting))[self.resource] > 0)
        self.without_waiting = LagrangianBound.at(graph, unlimited, without_waiting)
        self.period_bound = self._bound_period(graph, unlimited)

    def _bound_period(self, graph: StateGraph, unlimited: Target) -> LagrangianBound:
        busy = np.zeros(len(unlimited.limits), dtype=bool)
        busy[self.period_resources] = True
        target = replace(unlimited, is_objective=busy)
        return subgradient_ascent(
            graph, target, cheapest_root(graph, target.weights()), target.weights(), np.inf, STEPS
        )

    @property
    def depends_on_powered_set(self) -> bool:
        """Whether the energy depends on the set of powered devices."""
        return bool(self.idle_w.any())

    def first_use_j(self, before: Masks, powered: Masks) -> Floats:
        """Return the idle energy of devices that were off before, in joules."""
        return np.asarray(self._idle(powered & ~before) * self.frame_period_s)

    def least_j(self, done: int, nodes: Ints, values: Floats, powered: Masks, lower: Floats, spans: Floats) -> Floats:
        """Return a lower bound of the energy of each label, in joules.

        `lower` are lower bounds of its resources at the end [label][resource], `spans` of the period [label].
        """
        joules = np.asarray(lower[:, self.resource])
        if self.frame_period_s:
            return joules
        period_s = np.maximum.reduce(
            [lower[:, self.period_resources].max(axis=1), self.period_bound.of(done, nodes, values), spans]
        )
        active = self.without_waiting.of(done, nodes, values)
        idle_w = self.idle_w.sum() if self.must_use_all else self._idle(powered)
        return np.asarray(np.maximum(joules, active + idle_w * period_s))

    def dominance_columns(self, values: Floats) -> Floats:
        """Return the energy without idling, [label]: a label with less of it and shorter busy times dominates."""
        return np.asarray(values @ self.without_waiting.weights)

    def _idle(self, devices: Masks) -> Floats:
        """Return the total idle power of a set of devices."""
        bits = (devices[:, None] >> np.arange(len(self.idle_w), dtype=np.uint64)) & np.uint64(1)
        return np.asarray(bits @ self.idle_w)
