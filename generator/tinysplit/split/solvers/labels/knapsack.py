"""Lower bounds with a 0/1 knapsack for the flash of one board; all other resources have Lagrangian multipliers.

A Lagrangian bound credits free flash even if no remaining layer fits into it. Here dynamic programming counts the free
flash of a board in cells. Rounding favours the path, so that the result is a lower bound: a run of layers takes the
cells between the cumulative flash at its two ends, and where it begins, one cell is given back for rounding. Unlike
those of `lagrangian.py`, these bounds do not limit the length of runs; the larger of both bounds is used.
"""

from math import isqrt
from typing import NamedTuple

import numpy as np

from tinysplit.split.solvers.labels.lagrangian import RunGraph, Target
from tinysplit.split.solvers.labels.state_graph import Floats, Ints

ROUNDED = 1e-9  # cells: tolerance before rounding up


class _Tables(NamedTuple):
    """The cost of the layers left, [state][free cells][multiplier]: where the board had the last layer, or not."""

    own: Floats
    other: Floats


class KnapsackBounds:
    """Lower bounds of labels for several multipliers, with the flash of `device` in `n_cells` cells.

    `resource` is its number. Tables are computed backward and used forward, so only some are stored as checkpoints, and
    those between two checkpoints are computed again when needed.
    """

    def __init__(
        self, graph: RunGraph, target: Target, weights: Floats, device: int, resource: int, n_cells: int
    ) -> None:
        self.graph, self.device, self.resource = graph, device, resource
        self.weights = weights.copy()
        self.weights[:, resource] = 0.0
        self.offset = target.offset(self.weights)
        self.limit = target.limits[resource]
        self.cell = max(self.limit, 1.0) / n_cells
        taken = np.append(0.0, np.cumsum([self._flash_bytes(layer) for layer in range(len(graph.ports))])) / self.cell
        self.marks: Ints = np.floor(taken).astype(np.intp)
        self.begun = taken - self.marks
        self.n_positions = n_cells + 2  # 0 to n_cells free, and one that is given back
        self._tables = self._checkpoints()

    def of(self, done: int, nodes: Ints, device: Ints, values: Floats) -> Floats:
        """Return lower bounds [label][multiplier] after `done` layers; infinite where flash is exceeded.

        `device` had the last layer of each label.
        """
        free = (self.limit - values[:, self.resource]) / self.cell
        is_own = (device == self.device) & (done > 0)
        index = np.ceil(free + np.where(is_own, self.begun[done], 0.0) + ROUNDED).astype(np.intp)
        tables = self._at(done)
        rest = np.where(is_own[:, None], tables.own[nodes, index], tables.other[nodes, index])
        return np.asarray(rest + values @ self.weights.T - self.offset)

    def _flash_bytes(self, layer: int) -> float:
        step = self.graph.ports[layer].step
        return float(step.costs[step.device == self.device, self.resource].max(initial=0.0))

    def _checkpoints(self) -> dict[int, _Tables]:
        n = len(self.graph.ports)
        nothing = np.zeros((1, self.n_positions, len(self.weights)))
        tables = _Tables(nothing, nothing)
        kept = {n: tables}
        for layer in range(n - 1, -1, -1):
            tables = self._before(layer, tables)
            if layer % _interval(n) == 0:
                kept[layer] = tables
        return kept

    def _at(self, done: int) -> _Tables:
        """Return the tables after `done` layers; compute and store those up to the next checkpoint."""
        if done not in self._tables:
            n = len(self.graph.ports)
            self._tables = {at: tables for at, tables in self._tables.items() if at == n or at % _interval(n) == 0}
            for layer in range(min(at for at in self._tables if at > done) - 1, done - 1, -1):
                self._tables[layer] = self._before(layer, self._tables[layer + 1])
        return self._tables[done]

    def _before(self, layer: int, after: _Tables) -> _Tables:
        """Return the tables before a layer from those after it."""
        ports = self.graph.ports[layer]
        onward = after.other[ports.step.target]
        is_own = ports.arc_device == self.device
        onward[is_own] = after.own[ports.step.target[is_own]]
        onward += (ports.step.costs @ self.weights.T)[ports.step.move][:, None]
        rest = np.minimum.reduceat(onward, ports.first[:-1])
        (own,) = (ports.device == self.device).nonzero()
        taken = int(self.marks[layer + 1] - self.marks[layer])
        begins = rest.copy()
        begins[own] = _shifted(rest[own], taken - 1)
        rest[own] = _shifted(rest[own], taken)
        if ports.are_states:
            return _Tables(rest, begins)
        first = ports.first_of_node[:-1]
        return _Tables(np.minimum.reduceat(rest, first), np.minimum.reduceat(begins, first))


def bytes_per_cell(graph: RunGraph, n_multipliers: int) -> int:
    """Return the largest size in bytes per cell of the stored tables of one `KnapsackBounds`."""
    n = len(graph.ports)
    n_tables = n // _interval(n) + 2 + _interval(n)
    most_arcs = max(len(ports.arc_device) for ports in graph.ports)
    most_nodes = max(int(ports.node[-1]) + 1 for ports in graph.ports)
    return 8 * n_multipliers * (2 * n_tables * most_nodes + 3 * most_arcs)


def _interval(n: int) -> int:
    return isqrt(n) + 1


def _shifted(table: Floats, cells: int) -> Floats:
    """Return [..][free cells][multiplier] before `cells` cells are taken; -1 gives one back."""
    if cells < 0:
        return np.concatenate([table[:, 1:], table[:, -1:]], axis=1)
    remaining = np.full_like(table, np.inf)
    if cells < table.shape[1]:
        remaining[:, cells:] = table[:, : table.shape[1] - cells]
    return remaining
