"""What tensors of any size take between boards with given links: routes over relays, line and CPUs."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations
from math import inf
from typing import NamedTuple

import numpy as np

from tinysplit.boards.board import Board
from tinysplit.costs.handoff import handoff_of
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import CycleTable
from tinysplit.slices.exact.problem import Floats, Integers
from tinysplit.timing.handoff import Handoff
from tinysplit.timing.topology import Links, Routes

_THERE, _SENDING, _RECEIVING = range(3)  # costs by board
_NOMINAL_BYTES = 1024  # of the tensor by which routes are chosen


class Relaying(NamedTuple):
    """What a relay of the route from a to b waits for: arrays [...] like the bytes, without the two boards."""

    a: int
    b: int
    relay: int
    arrival_s: Floats  # until it has the tensor; -inf where nothing is sent


class TransferCosts(NamedTuple):
    """Arrays like the bytes [...][a][b]: seconds until b has them; and what all take of the CPUs, [...][board].

    Drivers work while boards wait (`timing/program.py`), so that the CPUs' seconds are not part of the others.
    """

    arrival_s: Floats  # -inf where there are none, inf without a route
    sending_s: Floats
    receiving_s: Floats  # relays included
    relaying: tuple[Relaying, ...]


@dataclass(frozen=True)
class LinkCosts:
    """Costs over the links that `settings` leave; a relay receives all of a tensor before it sends it on.

    Those of each size are computed once.
    """

    table: CycleTable
    boards: Sequence[Board]
    settings: CostSettings
    _known: dict[int, Floats] = field(default_factory=dict, init=False, repr=False)

    def of(self, n_bytes: Integers) -> TransferCosts:
        """Return what tensors of `n_bytes` (..., a, b) take; 0 bytes are not sent."""
        n_boards = len(self.boards)
        sizes, where = np.unique(n_bytes, return_inverse=True)
        where = where.reshape(n_bytes.shape)
        by_size = self._over_routes([int(size) for size in sizes])
        arrival_s = np.full(n_bytes.shape, -inf)
        cpu_s = np.zeros((2, *n_bytes.shape[:-1]))
        relaying: list[Relaying] = []
        for a, b in permutations(range(n_boards), 2):
            own = by_size[where[..., a, b], a, b]
            arrival_s[..., a, b] = own[..., _THERE, b]
            cpu_s += np.moveaxis(own[..., _SENDING:, :], -2, 0)
            relays = (hop.sender for hop in self._routes[a][b][1:])
            relaying += [Relaying(a, b, relay, own[..., _THERE, relay]) for relay in relays]
        return TransferCosts(arrival_s, cpu_s[0], cpu_s[1], tuple(relaying))

    def _over_routes(self, sizes: Sequence[int]) -> Floats:
        """Return what tensors of some sizes take by [size][a][b]: see `_over_route`."""
        unknown = [size for size in sizes if size not in self._known]
        if unknown:
            self._known.update(zip(unknown, self._computed(unknown), strict=True))
        return np.stack([self._known[size] for size in sizes])

    def _computed(self, sizes: Sequence[int]) -> Floats:
        """Return the same, computed."""
        parts, n_boards = self._parts(sizes), len(self.boards)
        costs = np.broadcast_to(self._nothing, (len(sizes), n_boards, n_boards, *self._nothing.shape)).copy()
        for a, b in permutations(range(n_boards), 2):
            for number, size in enumerate(sizes):
                if size:
                    costs[number, a, b] = self._over_route(a, b, number, parts)
        return costs

    @property
    def _nothing(self) -> Floats:
        costs = np.zeros((3, len(self.boards)))
        costs[_THERE] = -inf
        return costs

    def _over_route(self, a: int, b: int, tensor: int, parts: Handoff) -> Floats:
        """Return by board: seconds until it has a tensor from a for b, and its CPU's for sending and for receiving."""
        costs = self._nothing
        there_s, sending, receiving = costs
        there_s[a], there_s[b] = 0.0, inf
        for hop in self._routes[a][b]:
            sending[hop.sender] += parts.send_s[tensor][hop.sender]
            wire_s = parts.wire_s[tensor][hop.sender][hop.receiver]
            there_s[hop.receiver] = there_s[hop.sender] + wire_s
            receiving[hop.receiver] += parts.receive_s[tensor][hop.receiver]
        return costs

    def _parts(self, out_bytes: Sequence[int]) -> Handoff:
        """Return what tensors of these sizes take from direct links and from CPUs."""
        settings = self.settings
        host_baud = settings.host_baud_on(self.boards)
        over_links = (settings.link_settings_on(self.boards), settings.bits_per_byte, host_baud)
        return handoff_of(self.table, out_bytes, 0, self.boards, *over_links)

    @cached_property
    def _routes(self) -> Routes:
        (direct,) = self._parts([_NOMINAL_BYTES]).wire_s
        return Links((direct,), ((True,) * len(self.boards),)).routes[0]
