"""Lagrangian lower bounds for every state of the graph, with multipliers for its resources.

Let a path end with the resources x, limits b on some of them, and the objective a x + s max x over some resources. For
any weights w of those that sum to one, and multipliers p >= 0, the objective is at least (a + s w + p) x - p b: the
shortest path bounds it from below. Its steps are runs of layers on one device, and a run may not take more of a
resource than the limit, or than a label has left. This tightens the bound: the convex combination of paths that each
overload another device would otherwise count as feasible, and cuts that are necessary would be missed. The tables are
computed for many multipliers at the same time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tinysplit.split.solvers.labels.ports import Ports, within
from tinysplit.split.solvers.labels.runs import Runs
from tinysplit.split.solvers.labels.state_graph import Floats, Ints, StateGraph

CANCELLED = 1e-13  # relative rounding error of the limits, where large multipliers nearly cancel
RUN_NUMBERS = 100_000  # of a table with runs, for one multiplier; larger graphs have bounds without them
BATCH_NUMBERS = 3_000_000  # of a table for several multipliers
MOST_MULTIPLIERS = 32


@dataclass(frozen=True, eq=False)
class Target:
    """The bounded problem: minimise `base` times the resources, and a scale times the largest of some of them."""

    limits: Floats  # [resource], infinite for none
    largest: NDArray[np.bool_]  # [resource]
    base: Floats  # [resource]

    @cached_property
    def is_limited(self) -> NDArray[np.bool_]:
        """Resources with a limit that can have a multiplier."""
        return ~self.largest & np.isfinite(self.limits) & (self.limits > 0)

    def weights(self, scale: float) -> Floats:
        """Return equal weights of the largest resource, and no multipliers."""
        return np.asarray(self.base + scale * self.largest / self.largest.sum())

    def scales(self, weights: Floats) -> Floats:
        """Return the scale of the largest resource in each row of `weights`."""
        return np.asarray((weights - self.base)[:, self.largest].sum(axis=1))

    def offset(self, weights: Floats) -> Floats:
        """Return multipliers times limits, by row of `weights`."""
        limited = self.is_limited
        multipliers = (weights - self.base)[:, limited]
        return np.asarray(multipliers @ self.limits[limited] * (1 + CANCELLED))


@dataclass(frozen=True, eq=False)
class RunGraph:
    """A state graph with its ports, and the longest runs with some resources, [first layer][device]."""

    graph: StateGraph
    ports: tuple[Ports, ...]
    runs: Runs
    caps: Floats  # [resource]

    @classmethod
    def of(cls, graph: StateGraph, n_devices: int, caps: Floats) -> "RunGraph":
        """Return the graph with `caps` as the most that a run may take."""
        ports: list[Ports] = []
        for step in reversed(graph.steps):
            ports.insert(0, Ports(step, n_devices, ports[0] if ports else None))
        return cls(graph, tuple(ports), Runs(graph, n_devices), caps)

    def capped(self, caps: Floats) -> "RunGraph":
        """Return the same with other caps."""
        return RunGraph(self.graph, self.ports, self.runs, caps)

    @cached_property
    def farthest(self) -> Ints:
        """The end of the longest run, [first layer][device]."""
        return self.runs.farthest_ends(self.caps)

    @cached_property
    def longest(self) -> Ints:
        """The most layers of a run that begins with each layer; 1 where runs are not distinguished."""
        lengths = (self.farthest - np.arange(len(self.ports))[:, None]).max(axis=1).clip(1)
        return np.ones_like(lengths) if self._numbers(lengths) > RUN_NUMBERS else lengths

    def _numbers(self, lengths: Ints) -> int:
        """Return the size of a table for one multiplier with runs of these lengths."""
        staying = np.array([len(ports.staying[0]) for ports in self.ports])
        return int(lengths @ staying) + sum(len(ports.arc_device) for ports in self.ports)

    @cached_property
    def has_runs(self) -> bool:
        """Whether bounds limit the length of runs."""
        return bool((self.longest > 1).any())

    @cached_property
    def n_multipliers(self) -> int:
        """For how many multipliers a table may be computed at the same time."""
        return max(2, min(MOST_MULTIPLIERS, BATCH_NUMBERS // self._numbers(self.longest)))

    @cached_property
    def fresh_left(self) -> tuple[Ints, ...]:
        """For each layer the steps left of the longest run that begins there, [port]; -1: not even one layer fits."""
        if not self.has_runs:
            return tuple(np.zeros(len(ports.node), dtype=np.intp) for ports in self.ports)
        ends = self.farthest - np.arange(len(self.ports))[:, None] - 1
        return tuple(own[ports.device].clip(-1) for own, ports in zip(ends, self.ports, strict=True))

    def steps_left(self, done: int, device: Ints, values: Floats) -> Ints:
        """Return how many layers a run on `device` may take after `done`, less one, for labels with `values`.

        It is -1 where not even one fits.
        """
        if not self.has_runs:
            return np.zeros(len(device), dtype=np.intp)
        left = np.empty(len(device), dtype=np.intp)
        for number in range(self.farthest.shape[1]):
            (rows,) = (device == number).nonzero()
            if len(rows):
                left[rows] = self.runs.ends(done, number, self.caps - values[rows]) - done - 1
        return np.asarray(np.minimum(left, self.longest[done] - 1))


class BoundTables:
    """Tables of bounds for the states with at least `start` layers done, by [steps left][port][multiplier]."""

    def __init__(self, graph: RunGraph, target: Target, weights: Floats, start: int = 0) -> None:
        self.graph, self.weights = graph, weights  # [multiplier][resource]
        self.offset = target.offset(weights)
        n, nothing = len(graph.ports), np.empty(0)
        self.tables: list[Floats] = [nothing] * n
        self.costs: list[Floats] = [nothing] * n  # [arc][multiplier]
        self.leaving: list[Floats] = [nothing] * n  # [arc][multiplier], to the end, if the run ends behind the layer
        self.fresh: list[Floats] = [nothing] * n  # [port][multiplier], to the end, where a run begins
        for layer in range(n - 1, start - 1, -1):
            self._add(layer)

    def _add(self, layer: int) -> None:
        ports, length = self.graph.ports[layer], int(self.graph.longest[layer])
        self.costs[layer] = costs = (ports.step.costs @ self.weights.T)[ports.step.move]
        self.leaving[layer] = leaving = costs if ports.next is None else costs + self._after(layer + 1, ports)
        base = np.minimum.reduceat(leaving, ports.first[:-1])
        table = np.empty((length, *base.shape))
        table[:] = base
        stays, onward, starts, rows = ports.staying
        if length > 1 and len(stays):
            further = self.tables[layer + 1][: length - 1]
            staying = (further if ports.keep_numbers else further[:, onward]) + costs[stays]
            if len(starts) < len(stays):
                staying = np.minimum.reduceat(staying, starts, axis=1)
            if len(rows) == len(base):
                np.minimum(staying, base, out=table[1:])
            else:
                table[1:, rows] = np.minimum(staying, base[rows])
        self.tables[layer] = table
        self.fresh[layer] = fresh = table[self.graph.fresh_left[layer], np.arange(len(base))]
        if self.graph.has_runs:
            fresh[self.graph.fresh_left[layer] < 0] = np.inf

    def _after(self, layer: int, before: Ports) -> Floats:
        """Return the least from each arc of `before` on, of paths whose run ends before `layer`."""
        fresh, ports = self.fresh[layer], self.graph.ports[layer]
        if not self.graph.has_runs:
            return np.asarray(np.minimum.reduceat(fresh, ports.first_of_node[:-1])[before.step.target])
        if ports.are_states:
            return np.asarray(fresh[before.step.target] + before.stays_only)
        return np.asarray(ports.least_elsewhere(fresh)[before.step.target, before.arc_device])

    def of(self, done: int, nodes: Ints, values: Floats, some: Ints) -> Floats:
        """Return lower bounds [label][of `some` multipliers], infinite where no layer fits."""
        own = values @ self.weights[some].T - self.offset[some]
        if done == len(self.tables):
            return np.asarray(own)
        ports = self.graph.ports[done]
        rows, port = ports.of_nodes(nodes)
        left = self.graph.steps_left(done, ports.device[port], values if ports.are_states else values[rows])
        table = self.tables[done][:, :, some].reshape(-1, len(some))
        rest = table.take(left.clip(0) * len(ports.node) + port, axis=0)
        rest[left < 0] = np.inf
        if not ports.are_states:
            rest = np.minimum.reduceat(rest, np.searchsorted(rows, np.arange(len(nodes))))
        return np.asarray(own + rest)


class RunStart(NamedTuple):
    """Where a path may begin: a port, and how many layers the run that it begins with may take, less one."""

    values: Floats  # [resource]
    port: int
    left: int  # -1: none


@dataclass(frozen=True, eq=False)
class State:
    """The state of a label that multipliers are fitted to."""

    done: int
    starts: tuple[RunStart, ...]

    @classmethod
    def of(cls, graph: RunGraph, done: int, nodes: Ints, values: Floats) -> "State":
        """Return the state of a label, or that before the first layer, with every node and its values."""
        ports = graph.ports[done]
        rows, port = ports.of_nodes(nodes)
        left = graph.steps_left(done, ports.device[port], values[rows])
        return cls(
            done, tuple(RunStart(values[row], int(p), int(n)) for row, p, n in zip(rows, port, left, strict=True))
        )


class Completions:
    """Shortest paths from states, in the order of their layers, to the end, one for each multiplier.

    `values` are lower bounds, infinite without a path.
    """

    def __init__(self, tables: BoundTables, states: Sequence[State]) -> None:
        self.tables, self.graph = tables, tables.graph
        self.done = np.array([state.done for state in states])
        found = [self._begin(number, state) for number, state in enumerate(states)]
        self.values = np.array([value for value, _ in found])
        self.exists = np.isfinite(self.values)
        self.totals = np.stack([start.values for _, start in found])
        port = np.array([start.port for _, start in found])
        left = np.array([max(0, start.left) for _, start in found])
        self._devices = np.full((len(states), len(tables.tables)), -1)
        self._trace(port, left)

    def _begin(self, number: int, state: State) -> tuple[float, RunStart]:
        """Return the least value of a path from a state, and where it begins."""
        table, weights = self.tables.tables[state.done], self.tables.weights[number]

        def value(start: RunStart) -> float:
            rest = table[start.left, start.port, number] if start.left >= 0 else np.inf
            return float(start.values @ weights + rest - self.tables.offset[number])

        return min(((value(start), start) for start in state.starts), key=itemgetter(0))

    def _trace(self, port: Ints, left: Ints) -> None:
        for layer in range(int(self.done[0]), len(self.tables.tables)):
            count = int(self.done.searchsorted(layer, side="right"))
            ports, state = self.graph.ports[layer], np.arange(count)
            arcs, is_arc = ports.arcs_of(port[:count])
            leaving = self.tables.leaving[layer][arcs, state[:, None]]
            staying = self._staying(layer, arcs, left[:count, None], state[:, None])
            value = np.minimum(leaving, staying)
            if is_arc is not None:
                value[~is_arc] = np.inf
            best = value.argmin(axis=1)
            arc = arcs[state, best]
            self.totals[:count] += ports.step.costs[ports.step.move[arc]]
            self._devices[:count, layer] = ports.arc_device[arc]
            if ports.next is not None:
                least = staying[state, best]
                stays = (least <= leaving[state, best]) & (least < np.inf)
                port[:count], left[:count] = self._go_on(layer, arc, stays, left[:count], state)

    def _staying(self, layer: int, arcs: Ints, left: Ints, state: Ints) -> Floats:
        """Return the values of paths whose run goes on behind the layer."""
        ports = self.graph.ports[layer]
        if ports.next is None or not self.graph.has_runs:
            return np.full(arcs.shape, np.inf)
        onward = ports.onward[arcs]
        found = self.tables.tables[layer + 1][np.maximum(left - 1, 0), onward, state]
        found += self.tables.costs[layer][arcs, state]
        found[(onward < 0) | (left < 1)] = np.inf
        return np.asarray(found)

    def _go_on(self, layer: int, arc: Ints, stays: NDArray[np.bool_], left: Ints, state: Ints) -> tuple[Ints, Ints]:
        """Return the next port of each path, and the steps left there."""
        ports, after = self.graph.ports[layer], self.graph.ports[layer + 1]
        node, device = ports.step.target[arc], ports.arc_device[arc]
        if after.are_states:
            fresh = node
        else:
            some, is_port = within(after.first_of_node, node, after.most_ports)
            value = self.tables.fresh[layer + 1][some, state[:, None]]
            value[~is_port] = np.inf
            if self.graph.has_runs:
                value[after.device[some] == device[:, None]] = np.inf
            fresh = some[state, value.argmin(axis=1)]
        port = np.where(stays, ports.onward[arc], fresh)
        return port, np.where(stays, left - 1, np.maximum(self.graph.fresh_left[layer + 1][fresh], 0))

    def devices(self, state: int) -> list[int]:
        """Return the devices of the layers on the path from one of the states."""
        return [int(device) for device in self._devices[state, self.done[state] :]]
