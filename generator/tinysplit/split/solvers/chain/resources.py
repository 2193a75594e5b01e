"""Resources of a chain: totals over layers and cuts that are minimised or limited, and what each step adds to them.

Resources are I, the busy time of a board or of a half-duplex link, joules, and the flash of a board. The objective is
the largest of the first ones; the others have limits. With an idle power P of all powered boards, energy is the largest
of joules + P * busy over boards and links, and so resources again. P is known once the set of powered boards is, so
there is one `ChainResources` for each set that may be powered.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, isfinite

import numpy as np
from numpy.typing import NDArray

from tinysplit.split.evaluate.memory import within_ram
from tinysplit.split.problem import ROUNDING, Assignment, Objective, Problem
from tinysplit.split.topology import Links, Pair, pair_of

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ChainResources:
    """Where the last two layers stay together they are one layer here."""

    stay: Floats  # [layer][device][row]: to compute the layer there
    cut: Floats  # [layer][device of the layer before][device][row but those of flash]: to get its input there
    runs_on: Bools  # [layer][device]
    passes: Bools  # [layer][device of the layer before][device]
    limits: Floats  # [row], infinite for those of the objective
    n_objective: int  # first rows; the last ones are the flash of each device
    n_merged: int  # layers that the last one stands for

    @property
    def n_layers(self) -> int:
        """Layers of the chain, the last two of the problem counted once where they are one."""
        return len(self.stay)

    @property
    def n_devices(self) -> int:
        """Devices of the problem."""
        return int(self.stay.shape[1])

    def step(self, layer: int) -> Floats:
        """Return [device of the layer before][device][row] of a layer, infinite where there is no way."""
        step = np.repeat(self.stay[layer][None], self.n_devices, axis=0)
        step[:, :, : -self.n_devices] += self.cut[layer]
        step[~(self.passes[layer] & self.runs_on[layer])] = inf
        return step

    @cached_property
    def flash_left(self) -> Floats:
        """[layers done][device]: bytes of all layers that are left, were they on that device."""
        flash_bytes = self.stay[:, :, -self.n_devices :].sum(axis=2)  # only the device's own row has any
        return np.vstack([np.cumsum(flash_bytes[::-1], axis=0)[::-1], np.zeros(self.n_devices)])

    def assignment(self, devices: list[int]) -> Assignment:
        """Return the device of every layer of the problem from those of the chain."""
        return (*devices, *devices[-1:] * (self.n_merged - 1))

    @classmethod
    def of(cls, costs: "StepCosts", powered: Collection[int]) -> "ChainResources":
        """Return a problem with only `powered` devices, each of which draws its idle power also if it is not used."""
        problem = costs.problem
        objective, limited = _figures(costs, sum(problem.devices[device].idle_w for device in powered))
        flash_bytes = np.array([layer.flash_bytes for layer in problem.layers], dtype=float)
        flash = [flash_bytes * own for own in np.eye(costs.n_devices)]
        figures = [*objective, *(figure for figure, _ in limited)]
        limits = [limit * (1 + ROUNDING) for _, limit in limited] + [device.flash_bytes for device in problem.devices]
        switched_off = [device for device in range(costs.n_devices) if device not in powered]
        runs_on = costs.runs_on.copy()
        runs_on[:, switched_off] = False
        rows = cls(
            stay=np.stack([*(stay for stay, _ in figures), *flash], axis=-1),
            cut=np.stack([cut for _, cut in figures], axis=-1),
            runs_on=runs_on,
            passes=costs.passes & ~costs.relays[..., switched_off].any(axis=3),
            limits=np.array([inf] * len(objective) + limits),
            n_objective=len(objective),
            n_merged=1,
        )
        return rows._merged() if problem.keep_last_two and len(problem.layers) > 1 else rows

    def _merged(self) -> "ChainResources":
        """Return the same with the last two layers as one."""
        return replace(
            self,
            stay=np.concatenate([self.stay[:-2], self.stay[-2:].sum(axis=0, keepdims=True)]),
            cut=self.cut[:-1],
            runs_on=np.concatenate([self.runs_on[:-2], self.runs_on[-2:].all(axis=0, keepdims=True)]),
            passes=self.passes[:-1],
            n_merged=2,
        )


class StepCosts:
    """Seconds and joules of every step of a problem, as arrays without a row axis but for `loads`."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.n_devices = len(problem.devices)
        usable_s = np.array(problem.usable_seconds)
        self.runs_on = np.isfinite(usable_s)
        self.stay_s = np.where(self.runs_on, usable_s, 0.0)
        nothing = np.zeros((1, self.n_devices, self.n_devices))
        transfers_s = np.concatenate([nothing, np.array(within_ram(problem).transfer_seconds)[:-1]])
        self.passes = np.isfinite(transfers_s)
        self.cut_s = np.where(self.passes, transfers_s, 0.0)
        self.shared: list[Pair] = sorted(problem.links.half_duplex) if problem.links else []
        self.relays = np.zeros((*self.cut_s.shape, self.n_devices), dtype=bool)  # [..][device that passes it on]
        own_link = np.where(np.eye(self.n_devices, dtype=bool)[None, :, None], self.cut_s[..., None], 0.0)
        self.sending = np.concatenate([own_link, np.zeros((*self.cut_s.shape, len(self.shared)))], axis=3)
        idle_w = np.array([device.idle_w for device in problem.devices])
        run_w = np.array([device.run_w for device in problem.devices]) - idle_w
        self.talk_w = np.array([device.transfer_w for device in problem.devices]) - idle_w
        seconds = np.array([layer.seconds for layer in problem.layers])
        computing_s = np.where(self.runs_on, seconds, 0.0)
        self.stay_j = computing_s * run_w + (self.stay_s - computing_s) * self.talk_w  # the rest is the host's
        self.cut_j = self.cut_s * (self.talk_w[:, None] + self.talk_w)
        if problem.links:
            self._follow(problem.links)

    def _follow(self, links: Links) -> None:
        """Charge every hop to its own ends."""
        self.sending[:] = 0.0
        self.cut_j[:] = 0.0
        for layer, routes in enumerate(links.routes[:-1], 1):
            for i, row in enumerate(routes):
                for h, way in enumerate(row):
                    for hop in way:
                        self.sending[layer, i, h, hop.sender] += hop.seconds
                        self.cut_j[layer, i, h] += (self.talk_w[hop.sender] + self.talk_w[hop.receiver]) * hop.seconds
                        self.relays[layer, i, h, hop.sender] |= hop.sender != i
                        pair = pair_of(hop.sender, hop.receiver)
                        if pair in self.shared:
                            self.sending[layer, i, h, self.n_devices + self.shared.index(pair)] += hop.seconds

    @property
    def latency(self) -> "_Figure":
        """I in seconds."""
        return self.stay_s, self.cut_s

    def busy(self) -> list["_Figure"]:
        """Return the seconds of every device and of every half-duplex link."""
        computing = [self.stay_s * own for own in np.eye(self.n_devices)] + [np.zeros_like(self.stay_s)] * len(
            self.shared
        )
        return [(stay, self.sending[..., row]) for row, stay in enumerate(computing)]

    def joules(self, idle_w: float) -> list["_Figure"]:
        """Return what an inference takes, of which the largest counts, with devices of `idle_w` waiting together."""
        frame_s = self.problem.frame_period_s
        if frame_s or not idle_w:
            waiting_j = np.zeros_like(self.stay_j)
            waiting_j[0] = frame_s * idle_w
            return [(self.stay_j + waiting_j, self.cut_j)]
        return [(self.stay_j + idle_w * stay, self.cut_j + idle_w * cut) for stay, cut in self.busy()]


_Figure = tuple[Floats, Floats]  # [layer][device], and [layer][device of the layer before][device]


def _figures(costs: StepCosts, idle_w: float) -> tuple[list[_Figure], list[tuple[_Figure, float]]]:
    """Return the figures whose largest is the objective, and those that have limits."""
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
