"""Beam search with labels over the state graph, with increasing width until no label is pruned by width.

A pass extends labels layer by layer and keeps at most `width` after each: it drops labels that another one of the same
state dominates, and keeps those with the smallest lower bounds. A pass that dropped nothing
below the incumbent has proved it; otherwise the smallest bound dropped is a lower bound, and a wider pass follows with
Lagrangian bounds fitted to what was dropped.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

import numpy as np
from numpy.typing import NDArray

from tinysplit.split import clock
from tinysplit.split.problem import Assignment
from tinysplit.split.solvers.dag.incumbent import Incumbent
from tinysplit.split.solvers.dag.labels import Labels, join
from tinysplit.split.solvers.dag.lagrangian import State
from tinysplit.split.solvers.dag.pruning import LabelBounds
from tinysplit.split.solvers.dag.resources import Resources
from tinysplit.split.solvers.dag.state_graph import Ints, StateGraph

FIRST_WIDTH = 64
WIDENING = 6
LABEL_MEMORY_BYTES = 100_000_000
ARCS_A_BLOCK = 100_000  # between two readings of the clock
LEARNED_A_PASS = 4

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

    deadline: float
    dropped: list[State] = field(default_factory=list)  # by layer: the one with the smallest bound
    lower_bound: float = inf  # of all labels that were dropped or, out of time, not extended

    def leave(self, labels: Labels) -> None:
        """Record that `labels` are dropped."""
        self.lower_bound = min(self.lower_bound, float(labels.bounds.min()))


class _Search:
    def __init__(self, graph: StateGraph, resources: Resources, incumbent: Incumbent, deadline: float) -> None:
        self.graph, self.incumbent, self.deadline = graph, incumbent, deadline
        self.bounds = LabelBounds(incumbent.problem, resources, graph)
        self.lower_bound = -inf

    def run(self, most_passes: float) -> None:
        """Run wider passes until one proves the incumbent, or a limit is reached."""
        n_columns = self.graph.entry.shape[1]
        max_width = LABEL_MEMORY_BYTES // (5 * len(self.graph.steps) + 40 * (n_columns + 5))
        width, n_passes = FIRST_WIDTH, 0
        self._learn([self.bounds.root()])
        while True:
            has_nothing = not n_passes and not self.incumbent.assignment
            done = self._run_pass(width, inf if has_nothing else self.deadline)
            n_passes += 1
            # Labels pruned by the incumbent are not better than it.
            self.lower_bound = max(self.lower_bound, min(self.incumbent.value, done.lower_bound))
            late = clock.now() > self.deadline
            if self.incumbent.is_proved_by(self.lower_bound) or late or n_passes >= most_passes:
                return
            self.incumbent.improve(self.deadline)
            if self.bounds.dominates_by_bounds and not done.dropped:
                self.bounds.has_dominance = False  # a wider pass would find the same
            self._learn([self.bounds.root(), *sorted(done.dropped, key=lambda state: state.bound)])
            width = min(width * WIDENING, max_width)

    def _learn(self, states: Sequence[State]) -> None:
        """Fit Lagrangian bounds to some states, and offer the shortest paths as splits."""
        for state in states[:LEARNED_A_PASS]:
            if clock.now() < self.deadline:
                self.incumbent.offer(self.bounds.learn(state, self.incumbent.value, self.deadline))
        self.lower_bound = max(self.lower_bound, min(self.incumbent.value, self.bounds.least_value()))

    def _run_pass(self, width: int, deadline: float) -> _Pass:
        result = _Pass(deadline)
        labels = self.bounds.start()
        history: History = []
        for done in range(len(self.graph.steps)):
            opened = self._open(done, labels, width, result)
            if opened is None:
                result.leave(labels)
                return result
            parents, labels = opened
            self.incumbent.explored += len(labels)
            if not len(labels):
                return result
            history.append((parents.astype(np.int32), labels.device.astype(np.uint8)))
        self._finish(labels, history, result)
        return result

    def _open(self, done: int, labels: Labels, width: int, result: _Pass) -> tuple[Ints, Labels] | None:
        """Return parents and at most `width` labels extended by a layer, or None if the time is over."""
        first = self.graph.steps[done].first
        blocks = np.cumsum(first[labels.node + 1] - first[labels.node]) // ARCS_A_BLOCK
        parents, children = np.zeros(0, dtype=np.intp), labels.take(np.zeros(0, dtype=np.intp))
        for block in range(int(blocks[-1]) + 1):
            if clock.now() > result.deadline:
                return None
            rows = np.flatnonzero(blocks == block)
            opened, found = self.bounds.children(done, labels.take(rows), self.incumbent.value)
            parents, children = np.append(parents, rows[opened]), join([children, found])
            # Rarely are more than half of the labels dominated: the others need neither comparison nor memory.
            kept = _narrow(done + 1, children, 2 * width, result)
            parents, children = parents[kept], children.take(kept)
        undominated = self.bounds.undominated(children)
        parents, children = parents[undominated], children.take(undominated)
        kept = _narrow(done + 1, children, width, result)
        return parents[kept], children.take(kept)

    def _finish(self, labels: Labels, history: History, result: _Pass) -> None:
        """Evaluate complete labels by increasing bound, until none can be better than the incumbent."""
        order = np.argsort(labels.bounds, kind="stable")
        for position, row in enumerate(order):
            if self.incumbent.is_proved_by(float(labels.bounds[row])):
                break
            if clock.now() > result.deadline:
                result.leave(labels.take(order[position:]))
                return
            self.incumbent.offer(_devices(history, int(row)))
        if self.bounds.dominates_by_bounds and len(labels):
            result.leave(labels)


def _devices(history: History, row: int) -> Assignment:
    """Return the device of every layer, traced back from the label of `row`."""
    devices: list[int] = []
    for parents, device in reversed(history):
        devices.append(int(device[row]))
        row = int(parents[row])
    return tuple(reversed(devices))


def _narrow(done: int, labels: Labels, width: int, result: _Pass) -> Ints:
    """Return the rows of the `width` smallest bounds; record what is dropped."""
    if len(labels) <= width:
        return np.arange(len(labels))
    order = np.argpartition(labels.bounds, width)
    out = labels.take(order[width:])
    result.leave(out)
    row = int(out.bounds.argmin())
    result.dropped.append(State(done, int(out.node[row]), out.values[row], float(out.bounds[row])))
    return order[:width]
