"""Beam search with labels over the state graph, with increasing width until no label is pruned by width.

A pass extends labels layer by layer and keeps at most `width` after each: it drops labels that another one of the same
state dominates, and keeps those with the smallest lower bounds. A pass that dropped nothing below the incumbent has
proved it; otherwise the smallest bound dropped is a lower bound, and a wider pass follows with Lagrangian multipliers
fitted to what was dropped.
"""

from dataclasses import dataclass, field
from functools import partial
from math import inf

import numpy as np
from numpy.typing import NDArray

from tinysplit.split import clock
from tinysplit.split.problem import Assignment
from tinysplit.split.solvers.labels.incumbent import Incumbent
from tinysplit.split.solvers.labels.knapsack_choice import KnapsackChoice
from tinysplit.split.solvers.labels.labels import Labels, join
from tinysplit.split.solvers.labels.multipliers import Dropped
from tinysplit.split.solvers.labels.pruning import LabelBounds
from tinysplit.split.solvers.labels.resources import Resources
from tinysplit.split.solvers.labels.state_graph import Ints, StateGraph

FIRST_WIDTH = 32
WIDENING = 6
LABEL_MEMORY_BYTES = 150_000_000
KNAPSACK_WIDTH = 64  # times devices squared: narrower passes take less time than knapsack tables
ARCS_A_BLOCK = 100_000  # between two readings of the clock
FEW_STEPS, MANY_STEPS = 12, 40  # subgradient steps before a pass
HARD_PASSES = 3  # behind which there are many steps in any case, and behind one less where the gap is large
EXAMPLES = (0.0, 0.25, 0.5)  # quantiles of the bounds of dropped labels that are recorded, per layer
IMPROVED_GAP = 0.02  # optimality gap: a wider pass closes smaller ones without local search,
SMALL_GAP = 0.01  # and these without many steps and knapsacks

History = list[tuple[NDArray[np.int32], NDArray[np.uint8]]]  # by layer: parent and device of every label


def search_state_graph(
    graph: StateGraph, resources: Resources, incumbent: Incumbent, *, deadline: float, most_passes: float
) -> float:
    """Improve `incumbent`, and return a lower bound for all paths through `graph`; infinite where there is none.

    Where there is no incumbent a first narrow pass is always finished.
    """
    if not graph.steps:
        return inf
    search = _Search(graph, resources, incumbent, deadline)
    search.run(most_passes)
    return search.lower_bound


@dataclass(eq=False)
class _Pass:
    """The result of one pass."""

    width: int
    deadline: float
    dropped: list[Dropped] = field(default_factory=list)  # examples
    is_narrowed: bool = False  # whether there were more labels than `width`
    lower_bound: float = inf  # of all labels that were dropped or, out of time, not extended
    history: History = field(default_factory=list)
    knapsacks: KnapsackChoice | None = None

    def leave(self, labels: Labels) -> None:
        """Record that `labels` are dropped."""
        self.lower_bound = min(self.lower_bound, float(labels.bounds.min()))

    def devices(self, row: int, n_layers: int, *behind: int) -> Assignment:
        """Return the devices of the first layers, traced back from the label of `row`, and those `behind` them."""
        devices = [*reversed(behind)]
        for parents, device in reversed(self.history[:n_layers]):
            devices.append(int(device[row]))
            row = int(parents[row])
        return tuple(reversed(devices))


class _Search:
    def __init__(self, graph: StateGraph, resources: Resources, incumbent: Incumbent, deadline: float) -> None:
        self.graph, self.incumbent, self.deadline = graph, incumbent, deadline
        self.bounds = LabelBounds(incumbent.problem, resources, graph, incumbent.link_counts)
        self.lower_bound = -inf
        self.knapsack_devices = frozenset(range(len(incumbent.problem.devices)))

    def run(self, most_passes: float) -> None:
        """Run wider passes until one proves the incumbent, or a limit is reached."""
        n_columns = self.graph.entry.shape[1] + 2 * len(self.graph.tight) + len(self.bounds.links.watched)
        max_width = LABEL_MEMORY_BYTES // (5 * len(self.graph.steps) + 40 * (n_columns + 5))
        width, n_passes, dropped = FIRST_WIDTH, 0, list[Dropped]()
        while not self._is_proved_by_fit(dropped, self._steps(n_passes)):
            has_nothing = not n_passes and not self.incumbent.assignment
            start = clock.now()
            done = self._run_pass(_Pass(width, inf if has_nothing else self.deadline))
            n_passes += 1
            if done.knapsacks:
                self.knapsack_devices = done.knapsacks.helpful
            # Labels pruned by the incumbent are not better than it.
            self.lower_bound = max(self.lower_bound, min(self.incumbent.value, done.lower_bound))
            now = clock.now()
            if self.incumbent.is_proved_by(self.lower_bound) or now > self.deadline or n_passes >= most_passes:
                return
            if self._has_gap(IMPROVED_GAP):
                # A wider pass finds more, but for one that will be interrupted, or of an incomplete graph.
                is_last = now + WIDENING * (now - start) > self.deadline or most_passes < inf
                self.incumbent.improve(self.deadline if is_last else min(self.deadline, 2 * now - start))
            if self.bounds.dominates_by_bounds and not done.is_narrowed:
                self.bounds.has_dominance = False  # a wider pass would find the same
            dropped, width = done.dropped, min(width * WIDENING, max_width)

    def _steps(self, n_passes: int) -> int:
        is_hard = n_passes >= HARD_PASSES or (n_passes == HARD_PASSES - 1 and self._has_gap(SMALL_GAP))
        return MANY_STEPS if is_hard else FEW_STEPS

    def _has_gap(self, gap: float) -> bool:
        return self.lower_bound < self.incumbent.value * (1 - gap)

    def _is_proved_by_fit(self, dropped: list[Dropped], steps: int) -> bool:
        """Fit multipliers, offer the paths found as splits, and return whether the bound proves the incumbent."""
        self.bounds.aim_below(self.incumbent.value)
        multipliers = self.bounds.multipliers
        for assignment in multipliers.fit(dropped, steps, self.incumbent.value, self.deadline):
            self.incumbent.offer(assignment)
        self.lower_bound = max(self.lower_bound, min(self.incumbent.value, multipliers.least))
        return self.incumbent.is_proved_by(self.lower_bound)

    def _run_pass(self, result: _Pass) -> _Pass:
        self.bounds.begin(self.incumbent.value)
        least_width = KNAPSACK_WIDTH * len(self.incumbent.problem.devices) ** 2
        if result.width > least_width * (1 if self._has_gap(SMALL_GAP) else WIDENING) and self.knapsack_devices:
            result.knapsacks = self.bounds.knapsacks(sorted(self.knapsack_devices))
        labels = self.bounds.start()
        for done in range(len(self.graph.steps)):
            if not len(labels):
                return result
            opened = self._open(done, labels, result)
            if opened is None:
                result.leave(labels)
                return result
            labels = opened
            self.incumbent.explored += len(labels)
            result.history.append((labels.parent.astype(np.int32), labels.device.astype(np.uint8)))
        self._finish(labels, result)
        return result

    def _open(self, done: int, labels: Labels, result: _Pass) -> Labels | None:
        """Return at most `width` labels extended by a layer, or None if the time is over."""
        first, best = self.graph.steps[done].first, self.incumbent.value
        blocks = np.cumsum(first[labels.node + 1] - first[labels.node]) // ARCS_A_BLOCK
        children: Labels | None = None
        chosen: Ints | None = None
        for block in range(int(blocks[-1]) + 1):
            if clock.now() > result.deadline:
                return None
            rows = np.flatnonzero(blocks == block)
            found = self.bounds.children(done, labels.take(rows), best)
            found = found.from_parents(rows)
            if chosen is None:
                chosen = self.bounds.multipliers.choose(done + 1, found.node, found.values, found.bounds, best)
            found = self.bounds.bounded(done + 1, found, chosen, best)
            children = join([children, found]) if children else found
            if len(children) > 4 * result.width:  # rarely are more than half of the labels dominated
                children = self._narrowed(done + 1, children, 2 * result.width, result)
        if children is None:
            return None
        children = children.take(self.bounds.undominated(children))
        return self._narrowed(done + 1, children, result.width, result)

    def _narrowed(self, done: int, labels: Labels, width: int, result: _Pass) -> Labels:
        """Return the labels of the `width` smallest bounds; record what is dropped."""
        if result.knapsacks:
            labels = self.bounds.raised(done, labels, width, self.incumbent.value, result.knapsacks)
        if len(labels) <= width:
            return labels
        order = np.argpartition(labels.bounds, width)
        out = order[width:]
        out = out[np.argsort(labels.bounds[out], kind="stable")]
        result.leave(labels.take(out[:1]))
        result.is_narrowed = True
        if done == len(self.graph.steps):
            return labels.take(order[:width])
        for row in dict.fromkeys(int(out[int(len(out) * share)]) for share in EXAMPLES):
            traced = partial(result.devices, int(labels.parent[row]), done - 1, int(labels.device[row]))
            result.dropped.append(self.bounds.example(done, labels, row, traced))
        return labels.take(order[:width])

    def _finish(self, labels: Labels, result: _Pass) -> None:
        """Evaluate complete labels by increasing bound, until none can be better than the incumbent."""
        order = np.argsort(labels.bounds, kind="stable")
        for position, row in enumerate(order):
            if self.incumbent.is_proved_by(float(labels.bounds[row])):
                break
            if clock.now() > result.deadline:
                result.leave(labels.take(order[position:]))
                return
            self.incumbent.offer(result.devices(int(row), len(self.graph.steps)))
        if self.bounds.dominates_by_bounds and len(labels):
            result.leave(labels)
