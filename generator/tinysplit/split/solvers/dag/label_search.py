"""Search through a frontier: partial ways of all lengths in arrays, widened until nothing was left out.

A pass goes through the layers in their order and keeps at most `width` partial ways (labels) behind each: of those at
the same node none that another one beats in everything that still counts, and of the others those with the smallest
bounds. A pass that dropped nothing below its best split has proved it; otherwise the smallest bound dropped is a lower
bound, and a wider pass follows with more bounds, fitted to what was dropped.
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
from tinysplit.split.solvers.dag.resources import Columns
from tinysplit.split.solvers.dag.state_graph import Frontier, Ints

FIRST_WIDTH = 64
WIDENING = 6
LABEL_MEMORY_BYTES = 100_000_000
ARCS_A_BLOCK = 100_000  # that are looked at between two looks at the clock
LEARNED_A_PASS = 4

History = list[tuple[NDArray[np.int32], NDArray[np.uint8]]]  # by layer: parent and device of every label


def search_frontier(
    frontier: Frontier, columns: Columns, incumbent: Incumbent, *, deadline: float, most_passes: float
) -> float:
    """Improve `incumbent`, and return what no way through `frontier` is below; infinite where there is none.

    Where there is no incumbent a first narrow pass is always finished.
    """
    if not frontier.steps:
        return inf
    search = _Search(frontier, columns, incumbent, deadline)
    search.run(most_passes)
    return search.lower_bound


@dataclass(eq=False)
class _Pass:
    """What one pass leaves behind."""

    deadline: float
    dropped: list[State] = field(default_factory=list)  # of each layer the one with the smallest bound
    lower_bound: float = inf  # of all that was dropped or, out of time, not opened

    def leave(self, labels: Labels) -> None:
        """Note that nothing came of `labels`."""
        self.lower_bound = min(self.lower_bound, float(labels.bounds.min()))


class _Search:
    def __init__(self, frontier: Frontier, columns: Columns, incumbent: Incumbent, deadline: float) -> None:
        self.frontier, self.incumbent, self.deadline = frontier, incumbent, deadline
        self.bounds = LabelBounds(incumbent.problem, columns, frontier)
        self.lower_bound = -inf

    def run(self, most_passes: float) -> None:
        """Widen passes until one drops nothing that matters, or it is enough."""
        n_columns = self.frontier.entry.shape[1]
        max_width = LABEL_MEMORY_BYTES // (5 * len(self.frontier.steps) + 40 * (n_columns + 5))
        width, n_passes = FIRST_WIDTH, 0
        self._learn([self.bounds.root()])
        while True:
            has_nothing = not n_passes and not self.incumbent.assignment
            done = self._run_pass(width, inf if has_nothing else self.deadline)
            n_passes += 1
            # What the incumbent cut off is not better than it, whatever it costs.
            self.lower_bound = max(self.lower_bound, min(self.incumbent.value, done.lower_bound))
            late = clock.now() > self.deadline
            if self.incumbent.is_proved_by(self.lower_bound) or late or n_passes >= most_passes:
                return
            self.incumbent.improve(self.deadline)
            self._learn([self.bounds.root(), *sorted(done.dropped, key=lambda state: state.bound)])
            width = min(width * WIDENING, max_width)

    def _learn(self, states: Sequence[State]) -> None:
        """Fit bounds to some states, and take splits that turn up on the way."""
        for state in states[:LEARNED_A_PASS]:
            if clock.now() < self.deadline:
                self.incumbent.offer(self.bounds.learn(state, self.incumbent.value, self.deadline))
        self.lower_bound = max(self.lower_bound, min(self.incumbent.value, self.bounds.least_value()))

    def _run_pass(self, width: int, deadline: float) -> _Pass:
        result = _Pass(deadline)
        labels = self.bounds.start()
        history: History = []
        for done in range(len(self.frontier.steps)):
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
        """Return parents and labels one layer on, at most `width`, or None when the time is over."""
        first = self.frontier.steps[done].first
        blocks = np.cumsum(first[labels.node + 1] - first[labels.node]) // ARCS_A_BLOCK
        parents, children = np.zeros(0, dtype=np.intp), labels.take(np.zeros(0, dtype=np.intp))
        for block in range(int(blocks[-1]) + 1):
            if clock.now() > result.deadline:
                return None
            rows = np.flatnonzero(blocks == block)
            opened, found = self.bounds.children(done, labels.take(rows), self.incumbent.value)
            parents, children = np.append(parents, rows[opened]), join([children, found])
            # Half of the labels are seldom beaten; more need not be compared, nor kept in memory.
            kept = _narrow(done + 1, children, 2 * width, result)
            parents, children = parents[kept], children.take(kept)
        unbeaten = self.bounds.unbeaten(children)
        parents, children = parents[unbeaten], children.take(unbeaten)
        kept = _narrow(done + 1, children, width, result)
        return parents[kept], children.take(kept)

    def _finish(self, labels: Labels, history: History, result: _Pass) -> None:
        """Look at complete ways, the most promising first, until none can be better than the best."""
        order = np.argsort(labels.bounds, kind="stable")
        for position, row in enumerate(order):
            if self.incumbent.is_proved_by(float(labels.bounds[row])):
                return
            if clock.now() > result.deadline:
                result.leave(labels.take(order[position:]))
                return
            self.incumbent.offer(_devices(history, int(row)))


def _devices(history: History, row: int) -> Assignment:
    """Return the device of every layer on the way to the last label of `row`."""
    devices: list[int] = []
    for parents, device in reversed(history):
        devices.append(int(device[row]))
        row = int(parents[row])
    return tuple(reversed(devices))


def _narrow(done: int, labels: Labels, width: int, result: _Pass) -> Ints:
    """Return the rows of the `width` smallest bounds; note what is dropped."""
    if len(labels) <= width:
        return np.arange(len(labels))
    order = np.argpartition(labels.bounds, width)
    out = labels.take(order[width:])
    result.leave(out)
    row = int(out.bounds.argmin())
    result.dropped.append(State(done, int(out.node[row]), out.values[row], float(out.bounds[row])))
    return order[:width]
