"""Ports: the ways into a layer, each a state before it and the device that it runs on.

Bounds distinguish whether a run of layers on one device goes on or ends, which depends on both.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tinysplit.split.solvers.labels.state_graph import Floats, Ints, Step


@dataclass(frozen=True, eq=False)
class Ports:
    """The ports of a step: its arcs lie port by port, those of each state in the order of their devices."""

    step: Step
    n_devices: int
    next: "Ports | None"  # those of the next layer

    @cached_property
    def arc_device(self) -> Ints:
        """The device of every arc."""
        return self.step.device[self.step.move]

    @cached_property
    def first(self) -> Ints:
        """The first arc of every port, and the number of arcs."""
        key = self.step.origin * self.n_devices + self.arc_device
        return np.append(np.flatnonzero(np.append(True, key[1:] != key[:-1])), len(key))

    @cached_property
    def node(self) -> Ints:
        """The state of every port."""
        return self.step.origin[self.first[:-1]]

    @cached_property
    def device(self) -> Ints:
        """The device of every port."""
        return self.arc_device[self.first[:-1]]

    @cached_property
    def first_of_node(self) -> Ints:
        """The first port of every state, and the number of ports."""
        return np.searchsorted(self.node, np.arange(self.node[-1] + 2))

    @cached_property
    def number(self) -> Ints:
        """The port of every state and device, -1 for none."""
        number = np.full((int(self.node[-1]) + 1, self.n_devices), -1)
        number[self.node, self.device] = np.arange(len(self.node))
        return number

    @cached_property
    def onward(self) -> Ints:
        """For each arc the port of the next layer on the same device, -1 for none."""
        if self.next is None:
            return np.full(len(self.arc_device), -1)
        return self.next.number[self.step.target, self.arc_device]

    @cached_property
    def staying(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Arcs behind which the next layer may run on the same device, and its port.

        Then the first of these arcs for each port that has any, and that port.
        """
        (stays,) = (self.onward >= 0).nonzero()
        port = np.searchsorted(self.first, stays, side="right") - 1
        starts = np.flatnonzero(np.diff(port, prepend=-1))
        return stays, self.onward[stays], starts, port[starts]

    @cached_property
    def keep_numbers(self) -> bool:
        """Whether the arcs of `staying` lead to all ports of the next layer in their order, as those of a chain."""
        onward = self.staying[1]
        return self.next is not None and np.array_equal(onward, np.arange(len(self.next.node)))

    @cached_property
    def stays_only(self) -> Floats:
        """For each arc infinity where the next layer runs on the same device, if ports are states, else 0."""
        return np.where(self.onward >= 0, np.inf, 0.0)[:, None]

    @cached_property
    def are_states(self) -> bool:
        """Whether every state has one port, as those of a chain."""
        return len(self.node) == int(self.node[-1]) + 1

    @cached_property
    def most_arcs(self) -> int:
        """The largest number of arcs of a port."""
        return int(np.diff(self.first).max())

    @cached_property
    def most_ports(self) -> int:
        """The largest number of ports of a state."""
        return int(np.diff(self.first_of_node).max())

    @cached_property
    def _arcs(self) -> Ints | None:
        """The arcs of every port, [port][arc], if all have as many."""
        if len(self.arc_device) != len(self.node) * self.most_arcs:
            return None
        return np.arange(len(self.arc_device)).reshape(-1, self.most_arcs)

    def arcs_of(self, ports: Ints) -> tuple[Ints, NDArray[np.bool_] | None]:
        """Return [row][arc] for some ports, and which of these there are; None for all."""
        if self._arcs is not None:
            return self._arcs[ports], None
        return within(self.first, ports, self.most_arcs)

    def of_nodes(self, nodes: Ints) -> tuple[Ints, Ints]:
        """Return row and port of every port of `nodes`."""
        if self.are_states:
            return np.arange(len(nodes)), nodes
        return ragged(self.first_of_node, nodes)

    def least_elsewhere(self, values: Floats) -> Floats:
        """Return the least of `values` [port][..] by [state][device] over the other devices of the state."""
        table = np.full((*self.number.shape, values.shape[1]), np.inf)
        table[self.node, self.device] = values
        elsewhere = np.full_like(table, np.inf)
        if self.n_devices > 1:
            before = np.minimum.accumulate(table[:, :-1], axis=1)
            after = np.minimum.accumulate(table[:, :0:-1], axis=1)[:, ::-1]
            elsewhere[:, 1:] = before
            np.minimum(elsewhere[:, :-1], after, out=elsewhere[:, :-1])
        return elsewhere


def ragged(first: Ints, numbers: Ints) -> tuple[Ints, Ints]:
    """Return row and member of every member of `numbers`, whose members lie between two entries of `first`."""
    counts = first[numbers + 1] - first[numbers]
    rows = np.repeat(np.arange(len(numbers)), counts)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    return rows, first[numbers][rows] + within


def within(first: Ints, numbers: Ints, most: int) -> tuple[Ints, NDArray[np.bool_]]:
    """Return [row][at `most`] members of each of `numbers`, which lie between entries of `first`, and which there are.

    Others are repetitions of the last member.
    """
    last = first[numbers + 1] - 1
    members = first[numbers][:, None] + np.arange(most)
    return np.minimum(members, last[:, None]), members <= last[:, None]
