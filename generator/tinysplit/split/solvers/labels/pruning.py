"""Pruning of labels by lower bounds, rules and dominance."""

from collections.abc import Callable, Iterable, Sequence
from math import inf, isfinite

import numpy as np
from numpy.typing import NDArray

from tinysplit.split.problem import ROUNDING, Assignment, Objective, Period, Problem
from tinysplit.split.solvers.labels.energy import LabelEnergy, target_of
from tinysplit.split.solvers.labels.knapsack_choice import KnapsackChoice
from tinysplit.split.solvers.labels.labels import Labels, undominated
from tinysplit.split.solvers.labels.lagrangian import RunGraph
from tinysplit.split.solvers.labels.links import LabelLinks
from tinysplit.split.solvers.labels.multipliers import FIRST_BOUNDS, Dropped, Multipliers
from tinysplit.split.solvers.labels.ports import ragged
from tinysplit.split.solvers.labels.resources import BUSY, ENERGY, FLASH, LATENCY, SHARED, Resources
from tinysplit.split.solvers.labels.spans import LabelSpans
from tinysplit.split.solvers.labels.state_graph import Floats, Ints, Masks, StateGraph
from tinysplit.split.solvers.symmetry import earlier_interchangeable

ROUNDING_W = 1e-12  # of sums of idle powers
IMPROVED = 1 - 1e-12  # relative: smaller differences are rounding errors of sums


class LabelBounds:
    """Bounds, rules and dominance for one problem."""

    def __init__(
        self, problem: Problem, resources: Resources, graph: StateGraph, link_counts: Sequence[int] = ()
    ) -> None:
        self.problem, self.resources, self.graph = problem, resources, graph
        self.links = LabelLinks(problem, graph, link_counts)
        self.least = graph.rest(np.eye(len(resources.limits)))
        self.energy = LabelEnergy(problem, resources, graph) if problem.asks_for_energy else None
        self.spans = LabelSpans(resources) if resources.has_spans else None
        self.compared = self._compared_resources()
        # Without dominance: these periods may decrease with more work on a device.
        unordered = problem.asks_for_period and problem.period_definition in {Period.PAPER, Period.OLD}
        self.has_dominance = not unordered
        self.bit = np.left_shift(np.uint64(1), np.arange(len(problem.devices), dtype=np.uint64))
        self.earlier_masks = np.array(
            [sum(1 << i for i in earlier) for earlier in earlier_interchangeable(problem, link_counts)],
            dtype=np.uint64,
        )
        self.saturation = self._saturation()
        self.run_graph = RunGraph.of(graph, len(problem.devices), resources.limits)
        self.target, self.root_scale = target_of(problem, resources)
        self.multipliers = Multipliers(self.target, self.run_graph, self.root_scale)

    def aim_below(self, best: float) -> None:
        """Search for splits below `best` from now on."""
        limits = self.resources.limits
        caps = np.where(self.resources.is_objective, np.minimum(limits, best * IMPROVED), limits * (1 + ROUNDING))
        self.multipliers.graph = self.run_graph.capped(caps)

    def begin(self, best: float) -> None:
        """Prepare a pass for splits below `best`."""
        self.aim_below(best)
        self.multipliers.begin()
        if self.problem.objective is Objective.THROUGHPUT:
            least = self.start().bounds
            self.saturation = self._saturation(float(least.min()) if len(least) else 0.0)

    def start(self) -> Labels:
        """Return the labels before the first layer."""
        graph = self.graph
        nodes = np.arange(len(graph.entry))
        nothing, zeros = np.zeros(len(nodes), dtype=np.uint64), np.zeros(len(nodes))
        begun = graph.begun_s if self.spans else graph.begun_s[:, :0]
        memory = self.links.start(len(nodes))
        labels = Labels(
            nodes, graph.entry, nothing, nothing, nodes, begun, graph.fed_s, *memory, zeros, nodes, 0 * nodes
        )
        labels = self._within_limits(0, labels)
        return self.bounded(0, labels, np.arange(len(self.multipliers.weights)), inf)

    def children(self, done: int, labels: Labels, best: float) -> Labels:
        """Return all labels extended by a layer within the limits, with bounds below `best` without multipliers."""
        step = self.graph.steps[done]
        rows, arcs = ragged(step.first, labels.node)
        device = step.device[step.move[arcs]]
        allowed = self._keeps_rules(done, labels.used[rows], device)
        if not allowed.all():
            rows, arcs, device = rows[allowed], arcs[allowed], device[allowed]
        move, before = step.move[arcs], labels.take(rows)
        memory, peers, fits = self.links.after(step, arcs, move, before)
        if not fits.all():
            rows, arcs, device, move = rows[fits], arcs[fits], device[fits], move[fits]
            memory, peers, before = memory[fits], peers[fits], before.take(fits)
        values = before.values + step.costs[move]
        powered = before.powered | step.powered[move]
        if self.energy:
            values[:, self.resources.number[ENERGY, 0]] += self.energy.first_use_j(before.powered, powered)
        np.maximum(values, self.saturation[done + 1], out=values)
        spans = self.spans.after(step, move, before) if self.spans else (before.begun, before.longest_s)
        used = before.used | self.bit[device]
        children = Labels(
            step.target[arcs],
            values,
            used,
            powered,
            device,
            *spans,
            memory,
            peers,
            before.bounds,
            rows,
            before.strongest,
        )
        children = self._within_limits(done + 1, children)
        return children.take(children.bounds < best * IMPROVED)

    def bounded(self, done: int, labels: Labels, chosen: Ints, best: float) -> Labels:
        """Return the labels whose bound is below `best`, raised by the `chosen` multipliers, the strongest first."""
        for some in (chosen[:FIRST_BOUNDS], chosen[FIRST_BOUNDS:]):
            if len(some) and len(labels):
                values = self.multipliers.tables.of(done, labels.node, labels.values, some)
                self._add_waiting(done, labels, some, values)
                labels = labels.raised(values, some)
                labels = labels.take(labels.bounds < best * IMPROVED)
        return labels

    def knapsacks(self, devices: Iterable[int]) -> KnapsackChoice:
        """Return knapsack bounds with the multipliers of this pass, for some of these devices."""
        flash = {device: self.resources.number[FLASH, device] for device in devices}
        return KnapsackChoice(self.multipliers, flash)

    def raised(self, done: int, labels: Labels, width: int, best: float, knapsacks: KnapsackChoice) -> Labels:
        """Return the labels whose bound is below `best`, raised by knapsacks where that counts for `width` labels."""

        def by(some: Labels, values: Floats, chosen: Ints) -> Labels:
            self._add_waiting(done, some, chosen, values)
            some = some.raised(values, chosen)
            return some.take(some.bounds < best * IMPROVED)

        return knapsacks.raised(done, labels, width, best, by)

    def _add_waiting(self, done: int, labels: Labels, some: Ints, values: Floats) -> None:
        """Charge idle power beyond that of the multipliers, which bound nothing with more than a label has."""
        if self.energy and self.target.base.any():
            lower = labels.values + self.least[done][labels.node]
            beyond_w = self.energy.waiting_w(labels.powered)[:, None] - self.multipliers.scales[some]
            values += beyond_w * self.energy.least_period_s(lower, labels.longest_s)[:, None]
            values[beyond_w < -ROUNDING_W] = -inf

    def example(self, done: int, labels: Labels, row: int, traced: Callable[[], Assignment]) -> Dropped:
        """Return what multipliers are fitted to of a label that is dropped."""
        scale = 1.0
        if self.energy and self.target.base.any():
            scale = float(self.energy.waiting_w(labels.powered[row : row + 1])[0])
        weights = self.multipliers.weights[labels.strongest[row]]
        bound, node = float(labels.bounds[row]), int(labels.node[row])
        return Dropped(bound, done, traced, node, labels.values[row], weights, scale)

    @property
    def dominates_by_bounds(self) -> bool:
        """Whether a label may be dropped although it leads to a better split than the one that dominates it.

        The true period of the firmware, and which layers have smaller kernels, are known for complete paths only. What
        is dropped has no smaller bound.
        """
        return (self.resources.is_firmware or self.problem.smaller is not None) and self.has_dominance

    def undominated(self, labels: Labels) -> Ints:
        """Return the rows of the labels that no compared label dominates."""
        if not self.has_dominance:
            return np.arange(len(labels))
        groups: list[Ints | Masks] = [labels.node]
        if self.problem.must_use_all or self.earlier_masks.any():
            groups.append(labels.used)
        resources = [labels.values[:, self.compared], labels.memory]
        if self.spans:
            resources.append(self.spans.dominance_columns(labels))
        if self.energy:
            resources.append(self.energy.dominance_columns(labels.values)[:, None])
            if self.energy.depends_on_powered_set:
                groups.append(labels.powered)
        return undominated(groups, np.hstack(resources), labels.peers)

    def _keeps_rules(self, done: int, used: Masks, device: Ints) -> NDArray[np.bool_]:
        """Return whether interchangeable devices are used in order, and all devices can still be used if they must."""
        good = (used & self.earlier_masks[device]) == self.earlier_masks[device]
        if self.problem.must_use_all:
            n_unused = len(self.bit) - np.bitwise_count(used | self.bit[device])
            good &= n_unused <= len(self.graph.steps) - 1 - done
        return np.asarray(good)

    def _within_limits(self, done: int, labels: Labels) -> Labels:
        """Return the labels that break no limit, with bounds without multipliers."""
        lower = labels.values + self.least[done][labels.node]
        bounds = np.maximum(labels.bounds, lower[:, self.resources.is_objective].max(axis=1))
        if self.problem.objective is Objective.THROUGHPUT:
            np.maximum(bounds, labels.longest_s, out=bounds)
        kept = (lower <= self.resources.limits * (1 + ROUNDING)).all(axis=1)
        kept &= labels.longest_s <= self.problem.longest_period_s * (1 + ROUNDING)
        if self.energy:
            joules = self.energy.least_j(done, labels.node, labels.values, labels.powered, lower, labels.longest_s)
            kept &= joules <= self.problem.max_energy_j * (1 + ROUNDING)
            if self.problem.objective is Objective.ENERGY:
                np.maximum(bounds, joules, out=bounds)
        labels = labels.with_bounds(bounds)
        return labels if kept.all() else labels.take(kept)

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
