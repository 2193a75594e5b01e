"""All ways through a network of any shape, as arrays: nodes between layers, and arcs that take a layer.

`frontier_builder.py` says what a node is. Nodes decide what is still possible and what it costs; the columns of
`columns.py` add up along the arcs, and their limits are all that a way may still break.
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
    """One layer: its moves (a device, and where its output goes), and arcs between the nodes before and behind it."""

    origin: Ints  # [arc]: node before, ascending; every node has an arc
    target: Ints  # [arc]: node behind
    move: Ints  # [arc]
    costs: Floats  # [move][column]
    device: Ints  # [move]
    powered: Masks  # [move]: what computes or passes on
    begins_s: Floats  # [move][device], from the start of the layer: its first act, infinite for none
    ends_s: Floats  # [move][device]: its last act, infinitely early for none

    @cached_property
    def first(self) -> Ints:
        """The first arc of every node, and the number of arcs."""
        return np.searchsorted(self.origin, np.arange(self.origin[-1] + 2))


@dataclass(frozen=True, eq=False)
class Frontier:
    """Ways through a network; none of those left out costs less than `left_out`, infinite where all are there."""

    entry: Floats  # [node before the first layer][column]: what the host sends there
    begun_s: Floats  # [node before the first layer][device]: when that begins, infinite for nothing
    steps: tuple[Step, ...]  # none where there is no way
    left_out: float

    def rest(self, weights: Floats, start: int = 0) -> list[Floats]:
        """Return the least weighted costs of the layers left, [layers done][node][...], nothing before `start` done.

        `weights` are [column][...]: several weightings at once.
        """
        rest = [np.zeros((1, weights.shape[1]))]
        for step in reversed(self.steps[start:]):
            onward = (step.costs @ weights)[step.move] + rest[-1][step.target]
            rest.append(np.minimum.reduceat(onward, step.first[:-1]))
        return [np.empty((0, weights.shape[1]))] * start + rest[::-1]

    def cheapest(self, weights: Floats, rest: Sequence[Floats], start: int, node: int) -> tuple[Floats, list[int]]:
        """Return columns and devices of the cheapest way on from `node`, `start` layers done.

        `rest` is that of the one weighting `weights`, [layers done][node].
        """
        total, devices = np.zeros(len(weights)), []
        for step, behind in zip(self.steps[start:], rest[start + 1 :], strict=True):
            arcs = slice(step.first[node], step.first[node + 1])
            moves, targets = step.move[arcs], step.target[arcs]
            best = int(np.argmin((step.costs @ weights)[moves] + behind[targets]))
            total += step.costs[moves[best]]
            devices.append(int(step.device[moves[best]]))
            node = int(targets[best])
        return total, devices


def without_dead_ends(frontier: Frontier) -> Frontier:
    """Return the frontier without nodes that no way leads on from, the others numbered anew."""
    steps: list[Step] = []
    is_alive = np.ones(1, dtype=bool)  # the one node behind the last layer
    n_before = [len(frontier.entry), *(int(step.target.max()) + 1 for step in frontier.steps[:-1])]
    for step, n_nodes in zip(reversed(frontier.steps), reversed(n_before), strict=True):
        arcs = is_alive[step.target]
        target = (np.cumsum(is_alive) - 1)[step.target[arcs]]
        is_alive = np.zeros(n_nodes, dtype=bool)
        is_alive[step.origin[arcs]] = True
        origin = (np.cumsum(is_alive) - 1)[step.origin[arcs]]
        steps.insert(0, replace(step, origin=origin, target=target, move=step.move[arcs]))
    return replace(
        frontier,
        entry=frontier.entry[is_alive],
        begun_s=frontier.begun_s[is_alive],
        steps=tuple(steps) if is_alive.any() else (),
    )
