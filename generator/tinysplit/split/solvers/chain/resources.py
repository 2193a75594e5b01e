"""Resources of a chain, as in resource-constrained shortest paths: totals over layers and cuts.

A resource is minimised or limited: I, the busy time of a board or of a half-duplex link, joules, or the flash of a
board. The objective is the largest of the first resources; the others have limits. With an idle power P of all powered
boards, energy is the largest of joules + P * busy time over boards and links, so these are the resources of energy. P
depends on the set of powered boards, so there is one `ChainResources` for each set.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, isfinite

import numpy as np
from numpy.typing import NDArray

from tinysplit.split.evaluate.memory import within_ram
from tinysplit.split.problem import ROUNDING, Assignment, Objective, Problem
from tinysplit.timing.topology import Links, Pair, pair_of

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ChainResources:
    """Resources that layers and cuts consume; layers that must not be cut apart are merged into one."""

    layer_costs: Floats  # [layer][device][resource]: consumed by a layer on a device
    cut_costs: Floats  # [layer][device of the previous layer][device][resource but flash]: consumed by its input
    runs_on: Bools  # [layer][device]
    can_send: Bools  # [layer][device of the previous layer][device]
    limits: Floats  # [resource], infinite for those of the objective
    n_objective: int  # number of resources of the objective, which come first; the flash of each device comes last
    begins: Ints  # the first of the problem's layers that are merged into each layer
    n_problem_layers: int

    @property
    def n_layers(self) -> int:
        """Number of layers of the chain; merged layers count once."""
        return len(self.layer_costs)

    @property
    def n_devices(self) -> int:
        """Number of devices of the problem."""
        return int(self.layer_costs.shape[1])

    def step(self, layer: int) -> Floats:
        """Return the resources of a transition to `layer`, [device of the previous layer][device][resource].

        They are infinite where the transition is impossible.
        """
        step = np.repeat(self.layer_costs[layer][None], self.n_devices, axis=0)
        step[:, :, : -self.n_devices] += self.cut_costs[layer]
        step[~(self.can_send[layer] & self.runs_on[layer])] = inf
        return step

    @cached_property
    def flash_left(self) -> Floats:
        """Flash in bytes of all layers left if they were on one device, [layers assigned][device]."""
        flash_bytes = self.layer_costs[:, :, -self.n_devices :].sum(axis=2)  # other devices have 0
        return np.vstack([np.cumsum(flash_bytes[::-1], axis=0)[::-1], np.zeros(self.n_devices)])

    def assignment(self, devices: list[int]) -> Assignment:
        """Return the 0-based device of every layer of the problem from those of the chain."""
        lengths = np.diff([*self.begins, self.n_problem_layers])
        return tuple(device for device, length in zip(devices, lengths, strict=True) for _ in range(length))

    @classmethod
    def of(cls, costs: "StepCosts", powered: Collection[int]) -> "ChainResources":
        """Return the resources with only the devices `powered`, which all draw idle power, used or not."""
        problem = costs.problem
        objective, limited = _figures(costs, sum(problem.devices[device].idle_w for device in powered))
        flash_bytes = np.array([layer.flash_bytes for layer in problem.layers], dtype=float)
        flash = [flash_bytes * own for own in np.eye(costs.n_devices)]
        figures = [*objective, *(figure for figure, _ in limited)]
        limits = [limit * (1 + ROUNDING) for _, limit in limited] + [device.flash_bytes for device in problem.devices]
        switched_off = [device for device in range(costs.n_devices) if device not in powered]
        runs_on = costs.runs_on.copy()
        runs_on[:, switched_off] = False
        resources = cls(
            layer_costs=np.stack([*(layer_costs for layer_costs, _ in figures), *flash], axis=-1),
            cut_costs=np.stack([cut for _, cut in figures], axis=-1),
            runs_on=runs_on,
            can_send=costs.can_send & ~costs.relays[..., switched_off].any(axis=3),
            limits=np.array([inf] * len(objective) + limits),
            n_objective=len(objective),
            begins=np.arange(len(problem.layers)),
            n_problem_layers=len(problem.layers),
        )
        return resources._merged(problem.joined)

    def _merged(self, joined: Collection[int]) -> "ChainResources":
        """Return the resources with each layer of `joined` merged with the one after it."""
        begins = np.array([layer for layer in self.begins if layer - 1 not in joined], dtype=np.intp)
        return replace(
            self,
            layer_costs=np.add.reduceat(self.layer_costs, begins),
            cut_costs=self.cut_costs[begins],
            runs_on=np.logical_and.reduceat(self.runs_on, begins),
            can_send=self.can_send[begins],
            begins=begins,
        )


class StepCosts:
    """Seconds and joules of every layer and cut of a problem, as arrays; they do not depend on the powered boards."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.n_devices = len(problem.devices)
        usable_s = np.array(problem.usable_seconds)
        self.runs_on = np.isfinite(usable_s)
        self.layer_s = np.where(self.runs_on, usable_s, 0.0)
        nothing = np.zeros((1, self.n_devices, self.n_devices))
        transfers_s = np.concatenate([nothing, np.array(within_ram(problem).transfer_seconds)[:-1]])
        self.can_send = np.isfinite(transfers_s)
        self.cut_s = np.where(self.can_send, transfers_s, 0.0)
        self.half_duplex: list[Pair] = sorted(problem.links.half_duplex) if problem.links else []
        self.relays = np.zeros((*self.cut_s.shape, self.n_devices), dtype=bool)  # [..][relaying device]
        own_link = np.where(np.eye(self.n_devices, dtype=bool)[None, :, None], self.cut_s[..., None], 0.0)
        self.sending = np.concatenate([own_link, np.zeros((*self.cut_s.shape, len(self.half_duplex)))], axis=3)
        idle_w = np.array([device.idle_w for device in problem.devices])
        run_w = np.array([device.run_w for device in problem.devices]) - idle_w
        self.transfer_w = np.array([device.transfer_w for device in problem.devices]) - idle_w
        seconds = np.array([layer.seconds for layer in problem.layers])
        computing_s = np.where(self.runs_on, seconds, 0.0)
        host_s = self.layer_s - computing_s
        self.layer_j = computing_s * run_w + host_s * self.transfer_w
        self.cut_j = self.cut_s * (self.transfer_w[:, None] + self.transfer_w)
        if problem.links:
            self._charge_hops(problem.links)

    def _charge_hops(self, links: Links) -> None:
        """Charge each hop of a route to its two boards and its link."""
        self.sending[:] = 0.0
        self.cut_j[:] = 0.0
        for layer, routes in enumerate(links.routes[:-1], 1):
            for i, row in enumerate(routes):
                for h, route in enumerate(row):
                    for hop in route:
                        self.sending[layer, i, h, hop.sender] += hop.seconds
                        power_w = self.transfer_w[hop.sender] + self.transfer_w[hop.receiver]
                        self.cut_j[layer, i, h] += power_w * hop.seconds
                        self.relays[layer, i, h, hop.sender] |= hop.sender != i
                        pair = pair_of(hop.sender, hop.receiver)
                        if pair in self.half_duplex:
                            self.sending[layer, i, h, self.n_devices + self.half_duplex.index(pair)] += hop.seconds

    @property
    def latency(self) -> "_Figure":
        """I in seconds."""
        return self.layer_s, self.cut_s

    def busy(self) -> list["_Figure"]:
        """Return the busy seconds of every device, then of every half-duplex link."""
        computing = [self.layer_s * own for own in np.eye(self.n_devices)] + [np.zeros_like(self.layer_s)] * len(
            self.half_duplex
        )
        return [(layer_costs, self.sending[..., row]) for row, layer_costs in enumerate(computing)]

    def joules(self, idle_w: float) -> list["_Figure"]:
        """Return figures whose maximum is joules per inference; `idle_w` is the total idle power in watts."""
        frame_s = self.problem.frame_period_s
        if frame_s or not idle_w:
            waiting_j = np.zeros_like(self.layer_j)
            waiting_j[0] = frame_s * idle_w
            return [(self.layer_j + waiting_j, self.cut_j)]
        return [(self.layer_j + idle_w * layer_costs, self.cut_j + idle_w * cut) for layer_costs, cut in self.busy()]


_Figure = tuple[Floats, Floats]  # [layer][device], and [layer][device of the previous layer][device]


def _figures(costs: StepCosts, idle_w: float) -> tuple[list[_Figure], list[tuple[_Figure, float]]]:
    """Return the figures whose maximum is the objective, and the limited figures with their limits."""
    problem = costs.problem
    limited: list[tuple[_Figure, float]] = []
    if isfinite(problem.max_latency_s):
        limited.append((costs.latency, problem.max_latency_s))
    if isfinite(problem.longest_period_s):
        limited += [(busy, problem.longest_period_s) for busy in costs.busy()]
    if isfinite(problem.max_energy_j):
        limited += [(joules, problem.max_energy_j) for joules in costs.joules(idle_w)]
    if problem.objective is Objective.LATENCY:
        return [costs.latency], limited
    return costs.busy() if problem.objective is Objective.THROUGHPUT else costs.joules(idle_w), limited
