"""Exact search for networks of any shape, every objective and limit: partial ways through the frontier in arrays.

A pass goes through the layers in their order and keeps at most `width` partial ways (labels) behind each: of those at
the same node none that another one beats in everything that still counts, and of the others those with the smallest
bounds. A pass that dropped nothing below its best split has proved it; otherwise the smallest bound dropped is a lower
bound, and a wider pass follows with more bounds, fitted to what was dropped.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from tinysplit.split.columns import Columns
from tinysplit.split.floors import floor_value
from tinysplit.split.frontier import Frontier, Ints
from tinysplit.split.frontier_builder import find_frontier
from tinysplit.split.infeasible import check_memories, explain, explain_timeout
from tinysplit.split.label_bounds import LabelBounds
from tinysplit.split.labels import Labels, join
from tinysplit.split.priced_frontier import State
from tinysplit.split.problem import Assignment, Problem
from tinysplit.split.split import DEFAULT_TIME_LIMIT_S, Split

FIRST_WIDTH = 64
WIDENING = 6
LABEL_MEMORY_BYTES = 150_000_000
ARCS_A_BLOCK = 100_000  # that are looked at between two looks at the clock
LEARNED_A_PASS = 4
ROUNDING = 1e-12  # relative: sums of the same times in another order are no improvement

History = list[tuple[NDArray[np.int32], NDArray[np.uint8]]]  # by layer: parent and device of every label


def graph_search(problem: Problem, *, time_limit_s: float = DEFAULT_TIME_LIMIT_S) -> Split:
    """Return a best split, or after `time_limit_s` the best one found, with a bound and `proved` False.

    CheckFailedError says why nothing fits.
    """
    check_memories(problem)
    start = perf_counter()
    columns = Columns(problem)
    frontier = find_frontier(problem, columns, time_limit_s)
    if not frontier.steps:
        raise explain(problem) if frontier.is_whole else explain_timeout(problem, time_limit_s)
    search = _Search(problem, columns, frontier, start + time_limit_s)
    search.run()
    lower_bound = search.lower_bound if frontier.is_whole else min(search.lower_bound, floor_value(problem))
    if not search.best:
        raise explain(problem) if lower_bound == inf else explain_timeout(problem, time_limit_s)
    return Split(
        problem=problem,
        assignment=search.best,
        lower_bound=min(lower_bound, search.best_value),
        explored=search.explored,
        solver="graph",
        spent_s=perf_counter() - start,
    )


@dataclass(eq=False)
class _Pass:
    """What one pass leaves behind."""

    dropped: list[State] = field(default_factory=list)  # of each layer the one with the smallest bound
    lower_bound: float = inf  # of all that was dropped or, out of time, not opened


class _Search:
    def __init__(self, problem: Problem, columns: Columns, frontier: Frontier, deadline: float) -> None:
        self.problem, self.frontier, self.deadline = problem, frontier, deadline
        self.bounds = LabelBounds(problem, columns, frontier)
        self.best: Assignment = ()
        self.best_value = inf
        self.lower_bound = -inf
        self.explored = 0

    def run(self) -> None:
        """Widen passes until one drops nothing that matters, or the time is over."""
        n_columns = self.frontier.entry.shape[1]
        max_width = LABEL_MEMORY_BYTES // (5 * len(self.frontier.steps) + 40 * (n_columns + 5))
        width, deadline = FIRST_WIDTH, inf
        self._learn([self.bounds.root()])
        while True:
            done = self._run_pass(width, deadline)
            self.lower_bound = max(self.lower_bound, min(self.best_value, done.lower_bound))
            deadline = self.deadline
            if self.lower_bound >= self.best_value * (1 - ROUNDING) or perf_counter() > deadline:
                return
            self._learn([self.bounds.root(), *sorted(done.dropped, key=lambda state: state.bound)])
            width = min(width * WIDENING, max_width)

    def _learn(self, states: Sequence[State]) -> None:
        """Fit bounds to some states, and take splits that turn up on the way."""
        for state in states[:LEARNED_A_PASS]:
            if perf_counter() < self.deadline:
                self._offer(self.bounds.learn(state, self.best_value))
        self.lower_bound = max(self.lower_bound, min(self.best_value, self.bounds.least_value()))

    def _offer(self, assignment: Assignment) -> None:
        """Keep `assignment` where it is the best so far."""
        if len(assignment) == len(self.problem.layers) and self.problem.is_feasible(assignment):
            value = self.problem.value(assignment)
            if value < self.best_value:
                self.best, self.best_value = assignment, value

    def _run_pass(self, width: int, deadline: float) -> _Pass:
        result = _Pass()
        labels = self.bounds.start()
        history: History = []
        for done in range(len(self.frontier.steps)):
            opened = self._open(done, labels, deadline)
            if opened is None:
                result.lower_bound = min(result.lower_bound, float(labels.bounds.min()))
                return result
            parents, labels = opened
            kept = _narrow(done + 1, labels, width, result)
            parents, labels = parents[kept], labels.take(kept)
            self.explored += len(labels)
            if not len(labels):
                return result
            history.append((parents.astype(np.int32), labels.device.astype(np.uint8)))
        self._finish(labels, history, deadline, result)
        return result

    def _open(self, done: int, labels: Labels, deadline: float) -> tuple[Ints, Labels] | None:
        """Return parents and labels one layer on, without those that others beat, or None when the time is over."""
        first = self.frontier.steps[done].first
        blocks = np.cumsum(first[labels.node + 1] - first[labels.node]) // ARCS_A_BLOCK
        parents, found = [], []
        for block in range(int(blocks[-1]) + 1):
            if perf_counter() > deadline:
                return None
            rows = np.flatnonzero(blocks == block)
            opened, children = self.bounds.children(done, labels.take(rows), self.best_value)
            parents.append(rows[opened])
            found.append(children)
        children = join(found)
        unbeaten = self.bounds.unbeaten(children)
        return np.concatenate(parents)[unbeaten], children.take(unbeaten)

    def _finish(self, labels: Labels, history: History, deadline: float, result: _Pass) -> None:
        """Look at complete ways, the most promising first, until none can be better than the best."""
        for row in np.argsort(labels.bounds, kind="stable"):
            if labels.bounds[row] >= self.best_value * (1 - ROUNDING):
                return
            if perf_counter() > deadline:
                result.lower_bound = min(result.lower_bound, float(labels.bounds[row]))
                return
            self._offer(_devices(history, int(row)))


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
    out = order[width:]
    row = int(out[labels.bounds[out].argmin()])
    state = State(done, int(labels.node[row]), labels.values[row], float(labels.bounds[row]))
    result.dropped.append(state)
    result.lower_bound = min(result.lower_bound, state.bound)
    return order[:width]
