"""What tensors of any size take between boards with given links: routes over relays, line and CPUs."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import NamedTuple

import numpy as np

from tinysplit.boards.board import Board
from tinysplit.boards.link_driver import LinkDriver
from tinysplit.costs.problem_builder import CostSettings
from tinysplit.costs.transfers import wire_seconds
from tinysplit.kernels.cost_table import load_cycle_table
from tinysplit.slices.exact.problem import Floats
from tinysplit.split.topology import Links, Routes

_NOMINAL_BYTES = 1024  # of the tensor by which routes are chosen


class TransferCosts(NamedTuple):
    """Arrays like the bytes [...][a][b]: seconds until b has them; and what all take of the CPUs, [...][board]."""

    arrival_s: Floats  # without the CPU of the receiver; -inf where there are none, inf without a route
    taking_s: Floats  # of the receiver's CPU
    sending_s: Floats
    receiving_s: Floats  # relays included


@dataclass(frozen=True)
class LinkCosts:
    """Costs over the links that `settings` leave; a relay receives all of a tensor before it sends it on."""

    boards: Sequence[Board]
    settings: CostSettings

    def of(self, n_bytes: np.ndarray) -> TransferCosts:
        """Return what tensors of `n_bytes` (..., a, b) take; 0 bytes are not sent."""
        n_boards = len(self.boards)
        arrival_s = np.full(n_bytes.shape, -inf)
        taking_s = np.zeros(n_bytes.shape)
        cpu_s = np.zeros((2, *n_bytes.shape[:-1]))
        for a in range(n_boards):
            for b in range(n_boards):
                sizes, where = np.unique(n_bytes[..., a, b], return_inverse=True)
                if a == b or not sizes.any():
                    continue
                costs = np.array([self._over_route(a, b, int(size)) for size in sizes])[
                    where.reshape(n_bytes.shape[:-2])
                ]
                arrival_s[..., a, b], taking_s[..., a, b] = costs[..., 0], costs[..., 1]
                cpu_s += np.moveaxis(costs[..., 2:].reshape(*costs.shape[:-1], 2, n_boards), -2, 0)
        return TransferCosts(arrival_s, taking_s, cpu_s[0], cpu_s[1])

    def _over_route(self, a: int, b: int, n_bytes: int) -> list[float]:
        """Return seconds until a tensor is there, the receiver's CPU, and sending and receiving by board."""
        sending, receiving = [0.0] * len(self.boards), [0.0] * len(self.boards)
        if not n_bytes:
            return [-inf, 0.0, *sending, *receiving]
        hops = self._routes[a][b]
        arrival_s = 0.0 if hops else inf
        for hop in hops:
            sending[hop.sender] += self._cpu_s(hop.sender, n_bytes, sends=True)
            arrival_s += receiving[hop.sender] + self._wire_s(n_bytes, hop.sender, hop.receiver)
            receiving[hop.receiver] += self._cpu_s(hop.receiver, n_bytes, sends=False)
        return [arrival_s, receiving[b], *sending, *receiving]

    def _cpu_s(self, board: int, n_bytes: int, *, sends: bool) -> float:
        costs = load_cycle_table().handoff[self.boards[board].device.core]
        driver = self.settings.link_settings.driver or LinkDriver.DMA
        cycles = costs.sent(n_bytes, driver) if sends else costs.received(n_bytes, driver)
        return cycles / self.boards[board].clock.core_hz

    def _wire_s(self, n_bytes: int, sender: int, receiver: int) -> float:
        baud = self.settings.link_settings.between(sender, receiver).baud
        if sender == receiver or baud is None:
            return inf
        return wire_seconds(n_bytes, self.boards[sender].link_uarts[0], baud, self.settings.bits_per_byte)

    @cached_property
    def _routes(self) -> Routes:
        numbers = range(len(self.boards))
        direct = tuple(tuple(0.0 if a == b else self._wire_s(_NOMINAL_BYTES, a, b) for b in numbers) for a in numbers)
        return Links((direct,), ((True,) * len(self.boards),)).routes[0]
