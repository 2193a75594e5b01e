"""What tensors of any size take between boards with given links: routes over relays, line and CPUs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from math import inf
from typing import NamedTuple

import numpy as np

from tinysplit.boards.board import Board
from tinysplit.costs.handoff import handoff_of
from tinysplit.costs.problem_builder import CostSettings
from tinysplit.kernels.cost_table import load_cycle_table
from tinysplit.slices.exact.problem import Floats, Integers
from tinysplit.split.handoff import Handoff
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

    def of(self, n_bytes: Integers) -> TransferCosts:
        """Return what tensors of `n_bytes` (..., a, b) take; 0 bytes are not sent."""
        n_boards = len(self.boards)
        sizes, where = np.unique(n_bytes, return_inverse=True)
        where = where.reshape(n_bytes.shape)
        parts = self._parts(sizes)
        arrival_s = np.full(n_bytes.shape, -inf)
        taking_s = np.zeros(n_bytes.shape)
        cpu_s = np.zeros((2, *n_bytes.shape[:-1]))
        for a, b in permutations(range(n_boards), 2):
            costs = np.array(
                [self._over_route(a, b, number, parts) if size else self._nothing for number, size in enumerate(sizes)]
            )
            own = costs[where[..., a, b]]
            arrival_s[..., a, b], taking_s[..., a, b] = own[..., 0], own[..., 1]
            cpu_s += np.moveaxis(own[..., 2:].reshape(*own.shape[:-1], 2, n_boards), -2, 0)
        return TransferCosts(arrival_s, taking_s, cpu_s[0], cpu_s[1])

    @property
    def _nothing(self) -> list[float]:
        return [-inf, 0.0, *[0.0] * (2 * len(self.boards))]

    def _over_route(self, a: int, b: int, tensor: int, parts: Handoff) -> list[float]:
        """Return seconds until a tensor is there, the receiver's CPU, and sending and receiving by board."""
        sending, receiving = [0.0] * len(self.boards), [0.0] * len(self.boards)
        hops = self._routes[a][b]
        arrival_s = 0.0 if hops else inf
        for hop in hops:
            sending[hop.sender] += parts.send_s[tensor][hop.sender]
            arrival_s += receiving[hop.sender] + parts.wire_s[tensor][hop.sender][hop.receiver]
            receiving[hop.receiver] += parts.receive_s[tensor][hop.receiver]
        return [arrival_s, receiving[b], *sending, *receiving]

    def _parts(self, sizes: Iterable[int]) -> Handoff:
        """Return what tensors of these sizes take from direct links and from CPUs."""
        settings, out_bytes = self.settings, [int(size) for size in sizes]
        table = load_cycle_table()
        return handoff_of(
            out_bytes, 0, self.boards, settings.link_settings, settings.bits_per_byte, table, settings.host_baud
        )

    @cached_property
    def _routes(self) -> Routes:
        (direct,) = self._parts([_NOMINAL_BYTES]).wire_s
        return Links((direct,), ((True,) * len(self.boards),)).routes[0]
