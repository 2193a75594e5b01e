"""Resources of the search on graphs: totals along a path that have a limit or are the objective.

Latency; the busy seconds of every device and of every half-duplex link; bytes of flash; joules. Only those that a
problem asks for exist. The objective is the largest of its resources.
"""

from collections.abc import Hashable, Iterable, Sequence
from itertools import combinations
from math import inf

import numpy as np
from numpy.typing import NDArray

from tinysplit.split.problem import Objective, Period, Problem
from tinysplit.split.solvers.labels.firmware_bounds import (
    least_input_s,
    least_output_s,
    least_transfers,
    longest_path,
)
from tinysplit.timing.topology import Cut, pair_of

LATENCY, BUSY, SHARED, FLASH, ENERGY = "latency", "busy", "shared", "flash", "energy"
CLOCK = "clock"  # the least time of the steps before on one path, one after the other

Key = tuple[str, Hashable]  # kind; device or pair of a link, 0 where there is one


class Resources:
    """Numbers of the resources of `problem`, their limits, and what each transition adds to them.

    Busy seconds are those of computation alone for the period `old`, and of all that a device does for the others: no
    period is shorter. For `firmware` they are lower bounds (`firmware_bounds.py`), and every link is shared by its two
    directions: a transfer on it waits for the last one in either direction. For `span`, latency is the clock. With a
    given input period, energy excludes idling; otherwise idle power counts during busy seconds too. `average` are
    weights by resource that give a lower bound of the objective.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.is_firmware = problem.asks_for_period and problem.period_definition is Period.FIRMWARE
        self.has_spans = self.is_firmware or (problem.asks_for_period and problem.period_definition is Period.SPAN)
        self.path = longest_path(problem)  # of the clock of the firmware
        self.computes_alone = problem.period_definition is Period.OLD
        self.number = {key: number for number, key in enumerate(self._keys())}
        self.limits = np.array([self._limit(kind, key) for kind, key in self.number])
        kind = {Objective.LATENCY: (LATENCY,), Objective.THROUGHPUT: (BUSY, SHARED), Objective.ENERGY: (ENERGY,)}
        self.is_objective = np.array([what in kind[problem.objective] for what, _ in self.number])
        is_shared = np.array([what == SHARED for what, _ in self.number])
        self.average = (self.is_objective & ~is_shared) / (self.is_objective & ~is_shared).sum()

    @property
    def clock(self) -> int:
        """Number of the resource from which spans are measured."""
        return self.number[CLOCK if self.is_firmware else LATENCY, 0]

    def of_kind(self, *kinds: str) -> NDArray[np.intp]:
        """Return the numbers of the resources of some kinds."""
        return np.array([number for (kind, _), number in self.number.items() if kind in kinds], dtype=np.intp)

    def of_input(self, devices: Sequence[int]) -> list[float]:
        """Return what it adds when the host sends the network's input to `devices`."""
        row = [0.0] * len(self.number)
        if self.problem.host_seconds:
            for device in devices:
                self._talk_to_host(row, device, self.problem.host_seconds[device][0])
        if self.is_firmware:
            for device in devices:
                self._occupy(row, device, least_input_s(self.problem, device))
        return row

    def of_layer(self, seconds: float, layer: int, device: int, cuts: Sequence[Cut], clock_s: float) -> list[float]:
        """Return what `layer` on `device` adds, with `cuts` after it and the host's reading of the network's output.

        It computes for `seconds`; `clock_s` is what it adds to the firmware's clock.
        """
        row = [0.0] * len(self.number)
        self._add(row, FLASH, device, self.problem.layers[layer].flash_bytes[device])
        self._add(row, LATENCY, 0, seconds)
        self._keep_busy(row, device, seconds, self.problem.devices[device].run_w, computes=True)
        for cut in cuts:
            self._add(row, LATENCY, 0, cut.seconds)
            for hop in self.problem.hops(cut):
                self._keep_busy(row, hop.sender, hop.seconds, self.problem.devices[hop.sender].transfer_w)
                receiver = self.problem.devices[hop.receiver]
                self._add(row, ENERGY, 0, (receiver.transfer_w - receiver.between_w) * hop.seconds)
                if not self.is_firmware:
                    self._add(row, SHARED, pair_of(hop.sender, hop.receiver), hop.seconds)
        if self.is_firmware:
            self._add(row, CLOCK, 0, clock_s)
            self._occupy_with_steps(row, layer, device, cuts)
        if self.problem.host_seconds and layer == len(self.problem.layers) - 1:
            self._talk_to_host(row, device, self.problem.host_seconds[device][1])
        return row

    def _keys(self) -> Iterable[Key]:
        problem, devices = self.problem, range(len(self.problem.devices))
        is_clock = self.has_spans and not self.is_firmware
        if problem.objective is Objective.LATENCY or problem.max_latency_s < inf or is_clock:
            yield LATENCY, 0
        if self.is_firmware:
            yield CLOCK, 0
        yield from ((FLASH, device) for device in devices)
        if problem.asks_for_period:
            yield from ((BUSY, device) for device in devices)
            if self.is_firmware:
                yield from ((SHARED, pair) for pair in combinations(devices, 2))
            elif problem.links and problem.period_definition is Period.LOAD:
                yield from ((SHARED, pair) for pair in sorted(problem.links.half_duplex))
        if problem.asks_for_energy:
            yield ENERGY, 0

    def _limit(self, kind: str, key: Hashable) -> float:
        if kind == FLASH:
            return next(float(d.flash_bytes) for number, d in enumerate(self.problem.devices) if number == key)
        latency_s, joules = self.problem.max_latency_s, self.problem.max_energy_j
        return {LATENCY: latency_s, ENERGY: joules, CLOCK: inf}.get(kind, self.problem.longest_period_s)

    def _add(self, row: list[float], kind: str, key: Hashable, amount: float) -> None:
        if (kind, key) in self.number:
            row[self.number[kind, key]] += amount

    def _talk_to_host(self, row: list[float], device: int, seconds: float) -> None:
        self._add(row, LATENCY, 0, seconds)
        self._keep_busy(row, device, seconds, self.problem.devices[device].transfer_w)

    def _keep_busy(
        self, row: list[float], device: int, seconds: float, draws_w: float, *, computes: bool = False
    ) -> None:
        if computes or not (self.computes_alone or self.is_firmware):
            self._occupy(row, device, seconds)
        self._add(row, ENERGY, 0, (draws_w - self.problem.devices[device].between_w) * seconds)

    def _occupy_with_steps(self, row: list[float], layer: int, device: int, cuts: Sequence[Cut]) -> None:
        """Add what sending and receiving takes of the firmware's boards and links."""
        for sent in least_transfers(self.problem, layer, device, cuts):
            self._occupy(row, sent.sender, sent.sender_s)
            self._occupy(row, sent.receiver, sent.receiver_s)
            self._add(row, SHARED, pair_of(sent.sender, sent.receiver), sent.wire_s)
        if layer == len(self.problem.layers) - 1:
            self._occupy(row, device, least_output_s(self.problem, device))

    def _occupy(self, row: list[float], device: int, seconds: float) -> None:
        self._add(row, BUSY, device, seconds)
        if not self.problem.frame_period_s:
            self._add(row, ENERGY, 0, self.problem.devices[device].between_w * seconds)
