"""What links take of boards: RAM where little is free, and UARTs.

A link takes RAM for its driver, and more for each tensor, of what the arena leaves. Labels count that only for devices
on which it may not fit, and the neighbours only where they are limited or take RAM that counts.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from tinysplit.memory.link_memory import least_link_bytes, link_ram_bytes
from tinysplit.split.problem import Problem
from tinysplit.split.solvers.labels.labels import Labels
from tinysplit.split.solvers.labels.state_graph import Floats, Ints, Masks, StateGraph, Step
from tinysplit.timing.topology import Hop


class LinkRam:
    """The bytes of RAM that links take of each device; none where the problem does not count them."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.counts = any(device.driver_bytes for device in problem.devices)
        self.bytes_a_link = tuple(
            least_link_bytes(device.driver_bytes) if self.counts else 0 for device in problem.devices
        )

    def of_hops(self, layer: int, hops: Iterable[Hop]) -> list[int]:
        """Return the bytes by device for the output of `layer`, without those of each link."""
        taken = [0] * len(self.problem.devices)
        if self.counts:
            bytes_a_tensor = link_ram_bytes(0, (self.problem.layers[layer].out_bytes,))
            for hop in hops:
                taken[hop.sender] += bytes_a_tensor
                taken[hop.receiver] += bytes_a_tensor
        return taken

    def room_bytes(self, most_bytes: Sequence[int]) -> list[int]:
        """Return the bytes by device up to which an arena leaves room for any links.

        `most_bytes` are those of all tensors that a device may send and receive, without those of each link.
        """
        others = len(self.problem.devices) - 1
        taken = zip(self.problem.devices, most_bytes, self.bytes_a_link, strict=True)
        return [device.ram_bytes - most - others * each for device, most, each in taken]


def neighbours(n_devices: int, hops: Iterable[Hop]) -> list[int]:
    """Return for each device those that it has links with, a bit each."""
    found = [0] * n_devices
    for hop in hops:
        found[hop.sender] |= 1 << hop.receiver
        found[hop.receiver] |= 1 << hop.sender
    return found


class LabelLinks:
    """RAM of the tight devices, and neighbours of the watched ones, for labels."""

    def __init__(self, problem: Problem, graph: StateGraph, link_counts: Sequence[int]) -> None:
        self.tight = graph.tight
        n_devices = len(problem.devices)
        limited = {device for device, count in enumerate(link_counts) if count < n_devices - 1}
        self.watched = np.array(sorted(limited.union(map(int, self.tight))), dtype=np.intp)
        counts = list(link_counts) or [n_devices] * n_devices
        self.counts = np.array([counts[device] for device in self.watched], dtype=np.intp)
        self.ram_bytes = np.array([problem.devices[device].ram_bytes for device in self.tight], dtype=float)
        self.bytes_a_link = np.array(LinkRam(problem).bytes_a_link, dtype=float)[self.tight]
        self._of_tight = np.searchsorted(self.watched, self.tight)  # tight devices are watched, too

    def start(self, n_labels: int) -> tuple[Floats, Masks]:
        """Return the RAM of arenas and links [label][2 x tight device], and neighbours [label][watched device]."""
        return np.zeros((n_labels, 2 * len(self.tight))), np.zeros((n_labels, len(self.watched)), dtype=np.uint64)

    def after(self, step: Step, arcs: Ints, move: Ints, before: Labels) -> tuple[Floats, Masks, NDArray[np.bool_]]:
        """Return the same one arc on, and whether every device has the RAM and the UARTs."""
        if not len(self.watched):
            return before.memory, before.peers, np.ones(len(arcs), dtype=bool)
        peers = before.peers | step.peers[move][:, self.watched]
        fits = (np.bitwise_count(peers) <= self.counts).all(axis=1)
        n_tight = len(self.tight)
        if not n_tight:
            return before.memory, peers, fits
        arenas = np.maximum(before.memory[:, :n_tight], step.ram_bytes[arcs])
        added = np.bitwise_count(peers[:, self._of_tight] & ~before.peers[:, self._of_tight])
        links = before.memory[:, n_tight:] + step.link_bytes[move][:, self.tight] + added * self.bytes_a_link
        fits &= (arenas + links <= self.ram_bytes).all(axis=1)
        return np.hstack([arenas, links]), peers, fits
