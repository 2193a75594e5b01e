"""Energy of labels: the idle energy of a split depends on which devices are powered, and on the period."""

from math import isfinite

import numpy as np

from tinysplit.split.problem import Objective, Problem
from tinysplit.split.solvers.labels.lagrangian import Target
from tinysplit.split.solvers.labels.resources import BUSY, ENERGY, SHARED, Resources
from tinysplit.split.solvers.labels.state_graph import Floats, Ints, Masks, StateGraph


class LabelEnergy:
    """Idle power times the period, for labels.

    With a given input period a device is charged once, when it is first used. Otherwise the period is known only at the
    end: energy without idling, plus the idle power of the powered devices times a lower bound of the period, is a lower
    bound, and exact for complete paths where the period is `load`.
    """

    def __init__(self, problem: Problem, resources: Resources, graph: StateGraph) -> None:
        self.idle_w = np.array([device.between_w for device in problem.devices])
        self.frame_period_s = problem.frame_period_s
        self.must_use_all = problem.must_use_all
        self.resource = resources.number[ENERGY, 0]
        self.period_resources = resources.of_kind(BUSY, SHARED)
        self.without_waiting = _without_waiting(problem, resources)
        self.rest = [table[:, 0] for table in graph.rest(self.without_waiting[:, None])]

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
        active = values @ self.without_waiting + self.rest[done][nodes]
        return np.asarray(np.maximum(joules, active + self.waiting_w(powered) * self.least_period_s(lower, spans)))

    def least_period_s(self, lower: Floats, spans: Floats) -> Floats:
        """Return a lower bound of the period of each label."""
        return np.asarray(np.maximum(lower[:, self.period_resources].max(axis=1), spans))

    def waiting_w(self, powered: Masks) -> Floats:
        """Return the least idle power of the devices of each label at the end."""
        return np.full(len(powered), self.idle_w.sum()) if self.must_use_all else self._idle(powered)

    def dominance_columns(self, values: Floats) -> Floats:
        """Return the energy without idling, [label]: a label with less of it and shorter busy times dominates."""
        return np.asarray(values @ self.without_waiting)

    def _idle(self, devices: Masks) -> Floats:
        """Return the total idle power of a set of devices."""
        bits = (devices[:, None] >> np.arange(len(self.idle_w), dtype=np.uint64)) & np.uint64(1)
        return np.asarray(bits @ self.idle_w)


def target_of(problem: Problem, resources: Resources) -> tuple[Target, float]:
    """Return what Lagrangian bounds minimise, and the least scale of its largest resource.

    Energy whose idle power lasts for the period, which is not given, is energy without idling and the period times the
    idle power of all devices that are powered in the end.
    """
    nothing = np.zeros(len(resources.number))
    idle_w = [device.between_w for device in problem.devices]
    waits = problem.objective is Objective.ENERGY and not problem.frame_period_s and any(idle_w)
    if not waits or isfinite(problem.longest_period_s):
        return Target(resources.limits, resources.is_objective, nothing), 1.0
    largest = nothing > 0
    largest[resources.of_kind(BUSY, SHARED)] = True
    scale = sum(idle_w) if problem.must_use_all else min(idle_w)
    return Target(resources.limits, largest, _without_waiting(problem, resources)), scale


def _without_waiting(problem: Problem, resources: Resources) -> Floats:
    weights = np.zeros(len(resources.number))
    weights[resources.number[ENERGY, 0]] = 1.0
    if not problem.frame_period_s:
        weights[resources.of_kind(BUSY)] = [-device.between_w for device in problem.devices]
    return weights
