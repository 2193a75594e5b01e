"""The state graph: nodes are states between layers, arcs assign a layer to a device.

A state (`state_graph_builder.py`) decides which arcs are possible and what they cost. The resources of `resources.py`
add up along the arcs; their limits are all that a path can still violate.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.intp]
Floats = NDArray[np.float64]
Masks = NDArray[np.uint64]  # devices, a bit each


@dataclass(frozen=True, eq=False)
class Step:
    """One layer: its moves (a device, and the receivers of its output), and the arcs of the state graph."""

    origin: Ints  # [arc]: node before, ascending, then by device; every node has an arc
    target: Ints  # [arc]: node after the layer
    move: Ints  # [arc]
    costs: Floats  # [move][resource]
    device: Ints  # [move]
    powered: Masks  # [move]: devices that compute or relay
    begins_s: Floats  # [move][device], from the start of the layer: its first act, infinite for none
    ends_s: Floats  # [move][device]: its last act, infinitely early for none
    line_s: Floats  # [move]: at least, of the slowest line in the firmware
    ram_bytes: Floats  # [arc][tight device]: of all that is alive during the layer, 0 where there is room
    link_bytes: Floats  # [move][device]: RAM of the links for what is sent, without that of each link
    peers: Masks  # [move][device]: the devices that it has links with

    @cached_property
    def first(self) -> Ints:
        """The first arc of every node, and the number of arcs."""
        return np.searchsorted(self.origin, np.arange(self.origin[-1] + 2))


@dataclass(frozen=True, eq=False)
class StateGraph:
    """Paths through a network; none of those left out costs less than `left_out`, infinite if all are there."""

    entry: Floats  # [node before the first layer][resource]: what the host sends there
    begun_s: Floats  # [node before the first layer][device]: when that begins, infinite for nothing
    fed_s: Floats  # [node before the first layer]: at least, of the host's input in the firmware
    steps: tuple[Step, ...]  # empty if there is no path
    left_out: float
    tight: Ints  # devices on which arenas and links together may exceed the RAM

    def rest(self, weights: Floats, start: int = 0) -> list[Floats]:
        """Return the lengths of the shortest paths to the end, [layers done][node][weighting], from `start` done on.

        `weights` are [resource][weighting].
        """
        rest = [np.zeros((1, weights.shape[1]))]
        for step in reversed(self.steps[start:]):
            onward = (step.costs @ weights)[step.move] + rest[-1][step.target]
            rest.append(np.minimum.reduceat(onward, step.first[:-1]))
        return [np.empty((0, weights.shape[1]))] * start + rest[::-1]

    def cheapest(self, weights: Floats, rest: Sequence[Floats], start: int, node: int) -> tuple[Floats, list[int]]:
        """Return the resources and devices of the shortest path from `node`, `start` layers done, to the end.

        `rest` are the lengths for the one weighting `weights`, [layers done][node].
        """
        total, devices = np.zeros(len(weights)), []
        for step, remaining in zip(self.steps[start:], rest[start + 1 :], strict=True):
            arcs = slice(step.first[node], step.first[node + 1])
            moves, targets = step.move[arcs], step.target[arcs]
            best = int(np.argmin((step.costs @ weights)[moves] + remaining[targets]))
            total += step.costs[moves[best]]
            devices.append(int(step.device[moves[best]]))
            node = int(targets[best])
        return total, devices


def with_tight_devices(graph: StateGraph) -> StateGraph:
    """Return the graph, whose steps have RAM by [arc][device] or none, with that of the tight devices alone."""
    some = [step.ram_bytes for step in graph.steps if step.ram_bytes.size]
    tight = np.flatnonzero(np.max([ram.max(axis=0) for ram in some], axis=0)) if some else np.arange(0)
    return replace(graph, tight=tight, steps=tuple(_with_ram_of(step, tight) for step in graph.steps))


def _with_ram_of(step: Step, tight: Ints) -> Step:
    ram = step.ram_bytes[:, tight] if step.ram_bytes.size else np.zeros((len(step.origin), len(tight)))
    return replace(step, ram_bytes=ram)


def without_dead_ends(graph: StateGraph) -> StateGraph:
    """Return the graph without nodes that do not reach the end, the others numbered anew."""
    steps: list[Step] = []
    is_alive = np.ones(1, dtype=bool)  # the single node after the last layer
    n_before = [len(graph.entry), *(int(step.target.max()) + 1 for step in graph.steps[:-1])]
    for step, n_nodes in zip(reversed(graph.steps), reversed(n_before), strict=True):
        arcs = is_alive[step.target]
        target = (np.cumsum(is_alive) - 1)[step.target[arcs]]
        is_alive = np.zeros(n_nodes, dtype=bool)
        is_alive[step.origin[arcs]] = True
        origin = (np.cumsum(is_alive) - 1)[step.origin[arcs]]
        left = replace(step, origin=origin, target=target, move=step.move[arcs], ram_bytes=step.ram_bytes[arcs])
        steps.insert(0, left)
    return replace(
        graph,
        entry=graph.entry[is_alive],
        begun_s=graph.begun_s[is_alive],
        fed_s=graph.fed_s[is_alive],
        steps=tuple(steps) if is_alive.any() else (),
    )
