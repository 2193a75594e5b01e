"""Pruning of labels by lower bounds, rules and dominance."""

from math import isfinite

import numpy as np
from numpy.typing import NDArray

from tinysplit.split.problem import ROUNDING, Assignment, Objective, Period, Problem
from tinysplit.split.solvers.dag.energy import LabelEnergy
from tinysplit.split.solvers.dag.labels import Labels, undominated
from tinysplit.split.solvers.dag.lagrangian import LagrangianBound, State, Target, cheapest_root, subgradient_ascent
from tinysplit.split.solvers.dag.resources import BUSY, ENERGY, FLASH, LATENCY, SHARED, Resources
from tinysplit.split.solvers.dag.spans import LabelSpans
from tinysplit.split.solvers.dag.state_graph import Floats, Ints, Masks, StateGraph
from tinysplit.split.solvers.symmetry import earlier_interchangeable

STEPS = 40
MOST_BOUNDS = 8  # the most recent ones
IMPROVED = 1 - 1e-12  # relative: smaller differences are rounding errors of sums


class LabelBounds:
    """Bounds, rules and dominance for one problem."""

    def __init__(self, problem: Problem, resources: Resources, graph: StateGraph) -> None:
        self.problem, self.resources, self.graph = problem, resources, graph
        self.target = Target(resources.limits, resources.is_objective)
        self.least = graph.rest(np.eye(len(resources.limits)))
        self.energy = LabelEnergy(problem, resources, graph) if problem.asks_for_energy else None
        self.spans = LabelSpans(resources) if resources.has_spans else None
        self.compared = self._compared_resources()
        # Without dominance: these periods may decrease with more work on a device.
        unordered = problem.asks_for_period and problem.period_definition in {Period.PAPER, Period.OLD}
        self.has_dominance = not unordered
        self.lagrangian_bounds = [LagrangianBound.at(graph, self.target, self.target.weights())]
        self.bit = np.left_shift(np.uint64(1), np.arange(len(problem.devices), dtype=np.uint64))
        self.earlier_masks = np.array(
            [sum(1 << i for i in earlier) for earlier in earlier_interchangeable(problem)], dtype=np.uint64
        )
        self.saturation = self._saturation()

    def start(self) -> Labels:
        """Return the labels before the first layer."""
        nodes = np.arange(len(self.graph.entry))
        nothing = np.zeros(len(nodes), dtype=np.uint64)
        graph, zeros = self.graph, np.zeros(len(nodes))
        labels = Labels(nodes, graph.entry, nothing, nothing, nodes, graph.begun_s, graph.fed_s, zeros)
        return self._bounded(0, labels)

    def root(self) -> State:
        """Return the most promising node before the first layer."""
        return cheapest_root(self.graph, self.lagrangian_bounds[-1].weights)

    def learn(self, state: State, best: float, deadline: float) -> Assignment:
        """Fit one more Lagrangian bound to `state`; return the devices of the layers left on its shortest path."""
        strongest = max(self.lagrangian_bounds, key=lambda bound: bound.of_state(state))
        learned = subgradient_ascent(self.graph, self.target, state, strongest.weights, best, STEPS, deadline)
        if learned.of_state(state) > strongest.of_state(state):
            self.lagrangian_bounds = [*self.lagrangian_bounds, learned][-MOST_BOUNDS:]
        if state.done == 0 and self.problem.objective is Objective.THROUGHPUT:
            self.saturation = self._saturation(self.least_value())
        return tuple(self.graph.cheapest(learned.weights, learned.rest, state.done, state.node)[1])

    def least_value(self) -> float:
        """Return a lower bound of the objective."""
        return float(self.start().bounds.min())

    def children(self, done: int, labels: Labels, best: float) -> tuple[Ints, Labels]:
        """Return the rows of the parents, and all labels extended by a layer with bounds below `best`."""
        step = self.graph.steps[done]
        rows, arcs = _arcs_of(step.first, labels.node)
        device = step.device[step.move[arcs]]
        allowed = self._keeps_rules(done, labels.used[rows], device)
        rows, arcs, device = rows[allowed], arcs[allowed], device[allowed]
        move = step.move[arcs]
        values = labels.values[rows] + step.costs[move]
        powered = labels.powered[rows] | step.powered[move]
        if self.energy:
            values[:, self.resources.number[ENERGY, 0]] += self.energy.first_use_j(labels.powered[rows], powered)
        np.maximum(values, self.saturation[done + 1], out=values)
        used = labels.used[rows] | self.bit[device]
        before = labels.take(rows)
        spans = self.spans.after(step, move, before) if self.spans else (before.begun, before.longest_s)
        children = self._bounded(
            done + 1, Labels(step.target[arcs], values, used, powered, device, *spans, before.bounds)
        )
        good = np.flatnonzero(children.bounds < best * IMPROVED)
        return rows[good], children.take(good)

    @property
    def dominates_by_bounds(self) -> bool:
        """Whether a label may be dropped although it leads to a better split than the one that dominates it.

        The true period of the firmware is known for complete paths only. What is dropped has no smaller bound.
        """
        return self.resources.is_firmware and self.has_dominance

    def undominated(self, labels: Labels) -> Ints:
        """Return the rows of the labels that no compared label dominates."""
        if not self.has_dominance:
            return np.arange(len(labels))
        groups: list[Ints | Masks] = [labels.node]
        if self.problem.must_use_all or self.earlier_masks.any():
            groups.append(labels.used)
        resources = [labels.values[:, self.compared]]
        if self.spans:
            resources.append(self.spans.dominance_columns(labels))
        if self.energy:
            resources.append(self.energy.dominance_columns(labels.values)[:, None])
            if self.energy.depends_on_powered_set:
                groups.append(labels.powered)
        return undominated(groups, np.hstack(resources))

    def _keeps_rules(self, done: int, used: Masks, device: Ints) -> NDArray[np.bool_]:
        """Return whether interchangeable devices are used in order, and all devices can still be used if they must."""
        good = (used & self.earlier_masks[device]) == self.earlier_masks[device]
        if self.problem.must_use_all:
            n_unused = len(self.bit) - np.bitwise_count(used | self.bit[device])
            good &= n_unused <= len(self.graph.steps) - 1 - done
        return np.asarray(good)

    def _bounded(self, done: int, labels: Labels) -> Labels:
        """Return the labels with lower bounds, infinite where a limit is violated."""
        lower = labels.values + self.least[done][labels.node]
        bounds = np.maximum(labels.bounds, lower[:, self.resources.is_objective].max(axis=1))
        for bound in self.lagrangian_bounds:
            np.maximum(bounds, bound.of(done, labels.node, labels.values), out=bounds)
        if self.problem.objective is Objective.THROUGHPUT:
            np.maximum(bounds, labels.longest_s, out=bounds)
        broken = (lower > self.resources.limits * (1 + ROUNDING)).any(axis=1)
        broken |= labels.longest_s > self.problem.longest_period_s * (1 + ROUNDING)
        if self.energy:
            joules = self.energy.least_j(done, labels.node, labels.values, labels.powered, lower, labels.longest_s)
            broken |= joules > self.problem.max_energy_j * (1 + ROUNDING)
            if self.problem.objective is Objective.ENERGY:
                np.maximum(bounds, joules, out=bounds)
        bounds[broken] = np.inf
        return labels.with_bounds(bounds)

    def _compared_resources(self) -> Ints:
        """Return the resources that dominance compares; those of `span` replace busy seconds."""
        if not self.spans or self.resources.is_firmware:
            return self.resources.of_kind(LATENCY, FLASH, BUSY, SHARED)
        counts = self.problem.objective is Objective.LATENCY or isfinite(self.problem.max_latency_s)
        return self.resources.of_kind(FLASH, LATENCY) if counts else self.resources.of_kind(FLASH)

    def _saturation(self, least_value: float = 0.0) -> Floats:
        """Return [layers done][resource]: below this a label can neither break a limit nor raise the objective.

        Values are raised to it, so that more labels dominate. `least_value` is a lower bound of the minimized period.
        """
        problem, resources = self.problem, self.resources
        limits = np.full(len(resources.limits), -np.inf)
        limits[resources.of_kind(FLASH)] = resources.limits[resources.of_kind(FLASH)]
        if problem.objective is not Objective.LATENCY and not resources.has_spans:
            latency = resources.of_kind(LATENCY)
            limits[latency] = resources.limits[latency]
        if not problem.asks_for_energy or problem.frame_period_s:
            busy = resources.of_kind(BUSY, SHARED)
            limits[busy] = least_value if problem.objective is Objective.THROUGHPUT else resources.limits[busy]
        limits[~np.isfinite(limits)] = -np.inf
        most = np.array([step.costs.max(axis=0) for step in self.graph.steps])
        left = np.vstack([np.cumsum(most[::-1], axis=0)[::-1], np.zeros(len(limits))])
        return np.asarray(limits - left)


def _arcs_of(first: Ints, nodes: Ints) -> tuple[Ints, Ints]:
    """Return row and arc of every arc of `nodes`."""
    counts = first[nodes + 1] - first[nodes]
    rows = np.repeat(np.arange(len(nodes)), counts)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    return rows, first[nodes][rows] + within
