"""What labels of a frontier cost at least, which of them can still lead to something better, and which are beaten."""

from math import isfinite

import numpy as np
from numpy.typing import NDArray

from tinysplit.split.problem import ROUNDING, Assignment, Objective, Period, Problem
from tinysplit.split.solvers.dag.energy import LabelEnergy
from tinysplit.split.solvers.dag.labels import Labels, undominated
from tinysplit.split.solvers.dag.lagrangian import Price, State, Target, raise_bound, root_of
from tinysplit.split.solvers.dag.resources import BUSY, ENERGY, FLASH, LATENCY, SHARED, Columns
from tinysplit.split.solvers.dag.spans import LabelSpans
from tinysplit.split.solvers.dag.state_graph import Floats, Frontier, Ints, Masks
from tinysplit.split.solvers.symmetry import earlier_interchangeable

STEPS = 40
MOST_PRICES = 8  # the last ones learned
IMPROVED = 1 - 1e-12  # relative: sums of the same times in another order are no improvement


class LabelBounds:
    """Bounds and rules of one problem."""

    def __init__(self, problem: Problem, columns: Columns, frontier: Frontier) -> None:
        self.problem, self.columns, self.frontier = problem, columns, frontier
        self.target = Target(columns.limits, columns.is_objective)
        self.least = frontier.rest(np.eye(len(columns.limits)))
        self.energy = LabelEnergy(problem, columns, frontier) if problem.asks_for_energy else None
        self.spans = LabelSpans(columns) if columns.has_spans else None
        self.counting = self._counting()
        self.prices = [Price.at(frontier, self.target, self.target.weights())]
        self.bit = np.left_shift(np.uint64(1), np.arange(len(problem.devices), dtype=np.uint64))
        self.twins = np.array(
            [sum(1 << i for i in twins) for twins in earlier_interchangeable(problem)], dtype=np.uint64
        )
        self.saturation = self._saturation()

    def start(self) -> Labels:
        """Return the labels before the first layer."""
        nodes = np.arange(len(self.frontier.entry))
        nothing = np.zeros(len(nodes), dtype=np.uint64)
        zeros = np.zeros(len(nodes))
        labels = Labels(nodes, self.frontier.entry, nothing, nothing, nodes, self.frontier.begun_s, zeros, zeros)
        return self._bounded(0, labels)

    def root(self) -> State:
        """Return the most promising node before the first layer."""
        return root_of(self.frontier, self.prices[-1].weights)

    def learn(self, state: State, best: float, deadline: float) -> Assignment:
        """Fit one more bound to `state` and return the devices of the layers left that it is the cost of."""
        strongest = max(self.prices, key=lambda price: price.of_state(state))
        learned = raise_bound(self.frontier, self.target, state, strongest.weights, best, STEPS, deadline)
        if learned.of_state(state) > strongest.of_state(state):
            self.prices = [*self.prices, learned][-MOST_PRICES:]
        if state.done == 0 and self.problem.objective is Objective.THROUGHPUT:
            self.saturation = self._saturation(self.least_value())
        return tuple(self.frontier.cheapest(learned.weights, learned.rest, state.done, state.node)[1])

    def least_value(self) -> float:
        """Return an underestimate of the objective of every split."""
        return float(self.start().bounds.min())

    def children(self, done: int, labels: Labels, best: float) -> tuple[Ints, Labels]:
        """Return the rows of the parents, and all labels one layer on that can lead to something below `best`."""
        step = self.frontier.steps[done]
        rows, arcs = _arcs_of(step.first, labels.node)
        device = step.device[step.move[arcs]]
        allowed = self._keeps_rules(done, labels.used[rows], device)
        rows, arcs, device = rows[allowed], arcs[allowed], device[allowed]
        move = step.move[arcs]
        values = labels.values[rows] + step.costs[move]
        powered = labels.powered[rows] | step.powered[move]
        if self.energy:
            values[:, self.columns.number[ENERGY, 0]] += self.energy.first_use_j(labels.powered[rows], powered)
        np.maximum(values, self.saturation[done + 1], out=values)
        used = labels.used[rows] | self.bit[device]
        before = labels.take(rows)
        spans = self.spans.after(step, move, before) if self.spans else (before.begun, before.longest_s)
        children = self._bounded(
            done + 1, Labels(step.target[arcs], values, used, powered, device, *spans, before.bounds)
        )
        good = np.flatnonzero(children.bounds < best * IMPROVED)
        return rows[good], children.take(good)

    def unbeaten(self, labels: Labels) -> Ints:
        """Return the rows that are worth keeping."""
        if self.problem.asks_for_period and self.problem.period_definition in {Period.PAPER, Period.OLD}:
            return np.arange(len(labels))  # these periods may get shorter where a device has more to do
        groups: list[Ints | Masks] = [labels.node]
        if self.problem.must_use_all or self.twins.any():
            groups.append(labels.used)
        columns = [labels.values[:, self.counting]]
        if self.spans:
            columns.append(self.spans.beating(labels))
        if self.energy:
            columns.append(self.energy.beating(labels.values)[:, None])
            if self.energy.tells_powered_apart:
                groups.append(labels.powered)
        return undominated(groups, np.hstack(columns))

    def _keeps_rules(self, done: int, used: Masks, device: Ints) -> NDArray[np.bool_]:
        """Return whether twins are taken in their order, and all devices can still be used where they must."""
        good = (used & self.twins[device]) == self.twins[device]
        if self.problem.must_use_all:
            n_unused = len(self.bit) - np.bitwise_count(used | self.bit[device])
            good &= n_unused <= len(self.frontier.steps) - 1 - done
        return np.asarray(good)

    def _bounded(self, done: int, labels: Labels) -> Labels:
        """Return the labels with bounds, infinite where a limit is broken."""
        lower = labels.values + self.least[done][labels.node]
        bounds = np.maximum(labels.bounds, lower[:, self.columns.is_objective].max(axis=1))
        for price in self.prices:
            np.maximum(bounds, price.of(done, labels.node, labels.values), out=bounds)
        if self.problem.objective is Objective.THROUGHPUT:
            np.maximum(bounds, labels.longest_s, out=bounds)
        broken = (lower > self.columns.limits * (1 + ROUNDING)).any(axis=1)
        broken |= labels.longest_s > self.problem.longest_period_s * (1 + ROUNDING)
        if self.energy:
            joules = self.energy.least_j(done, labels.node, labels.values, labels.powered, lower, labels.longest_s)
            broken |= joules > self.problem.max_energy_j * (1 + ROUNDING)
            if self.problem.objective is Objective.ENERGY:
                np.maximum(bounds, joules, out=bounds)
        bounds[broken] = np.inf
        return labels.with_bounds(bounds)

    def _counting(self) -> Ints:
        """Return the columns of which a label is better off with less; spans stand for busy seconds."""
        if not self.spans:
            return self.columns.of_kind(LATENCY, FLASH, BUSY, SHARED)
        counts = self.problem.objective is Objective.LATENCY or isfinite(self.problem.max_latency_s)
        return self.columns.of_kind(FLASH, LATENCY) if counts else self.columns.of_kind(FLASH)

    def _saturation(self, least_value: float = 0.0) -> Floats:
        """Return [layers done][column]: with less than this a label can no longer break a limit, nor cost more.

        So much and less is all the same. `least_value` stands for the limit of the period that is minimized.
        """
        problem, columns = self.problem, self.columns
        limits = np.full(len(columns.limits), -np.inf)
        limits[columns.of_kind(FLASH)] = columns.limits[columns.of_kind(FLASH)]
        if problem.objective is not Objective.LATENCY and not columns.has_spans:
            latency = columns.of_kind(LATENCY)
            limits[latency] = columns.limits[latency]
        if not problem.asks_for_energy or problem.frame_period_s:
            paces = columns.of_kind(BUSY, SHARED)
            limits[paces] = least_value if problem.objective is Objective.THROUGHPUT else columns.limits[paces]
        limits[~np.isfinite(limits)] = -np.inf
        most = np.array([step.costs.max(axis=0) for step in self.frontier.steps])
        left = np.vstack([np.cumsum(most[::-1], axis=0)[::-1], np.zeros(len(limits))])
        return np.asarray(limits - left)


def _arcs_of(first: Ints, nodes: Ints) -> tuple[Ints, Ints]:
    """Return row and arc of every arc of `nodes`."""
    counts = first[nodes + 1] - first[nodes]
    rows = np.repeat(np.arange(len(nodes)), counts)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    return rows, first[nodes][rows] + within
