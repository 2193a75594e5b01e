"""Topology: the links between devices, and the route of a tensor from one device to another."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, isfinite
from typing import NamedTuple, Self

NETWORK_INPUT = -1  # index of the network's input, instead of a layer index

Pair = tuple[int, int]  # two devices, the smaller index first
Table = tuple[tuple[tuple[float, ...], ...], ...]  # seconds by [layer][sender][receiver]


class Hop(NamedTuple):
    """A transfer over one link. A device between two hops receives the whole tensor before it relays it."""

    sender: int
    receiver: int
    seconds: float


@dataclass(frozen=True)
class Cut:
    """The output of layer `after_layer`, sent to another device, once for all layers that read it there.

    All indices are 0-based. `seconds` is the sum over all hops if other devices relay the tensor.
    """

    after_layer: int
    sender: int
    receiver: int
    payload_bytes: int
    seconds: float


Routes = tuple[tuple[tuple[Hop, ...], ...], ...]  # by [sender][receiver]; empty for the same and unconnected devices


@dataclass(frozen=True)
class Links:
    """The links of a problem; a relayed tensor costs time on every hop.

    `direct` has the seconds over the direct link of each pair, infinite without a link. `relays` tells which device has
    the RAM to relay which layer's output. On a half-duplex link both directions share the time.
    """

    direct: Table
    relays: tuple[tuple[bool, ...], ...]  # [layer][device]
    half_duplex: frozenset[Pair] = frozenset()

    @cached_property
    def routes(self) -> tuple[Routes, ...]:
        """The fastest route of each layer's output, by [layer][sender][receiver]; once for equal ones."""
        own = list(zip(self.direct, self.relays, strict=True))
        known = {each: _fastest(*each) for each in dict.fromkeys(own)}
        return tuple(map(known.__getitem__, own))

    @cached_property
    def transfer_seconds(self) -> Table:
        """Seconds of each layer's output over its route, infinite between unconnected devices."""
        known = {routes: _seconds_of(routes) for routes in dict.fromkeys(self.routes)}
        return tuple(map(known.__getitem__, self.routes))

    def without(self, pairs: Collection[Pair]) -> Self:
        """Return the links without those between `pairs`."""
        direct = tuple(
            tuple(
                tuple(inf if pair_of(i, h) in pairs else seconds for h, seconds in enumerate(row))
                for i, row in enumerate(table)
            )
            for table in self.direct
        )
        return type(self)(direct, self.relays, self.half_duplex)


def _seconds_of(routes: Routes) -> tuple[tuple[float, ...], ...]:
    """Return the seconds of routes by [sender][receiver], 0 to a device itself, infinite without a route."""
    return tuple(
        tuple(0.0 if i == h else sum(hop.seconds for hop in route) if route else inf for h, route in enumerate(row))
        for i, row in enumerate(routes)
    )


def pair_of(a: int, b: int) -> Pair:
    """Return two devices as a pair."""
    return (a, b) if a < b else (b, a)


def _fastest(direct: Sequence[Sequence[float]], relays: Sequence[bool]) -> Routes:
    """Return the fastest routes between all devices (Floyd and Warshall); a direct link wins ties."""
    devices = range(len(direct))
    seconds = [list(row) for row in direct]
    routes: list[list[tuple[Hop, ...]]] = [
        [(Hop(i, h, direct[i][h]),) if i != h and isfinite(direct[i][h]) else () for h in devices] for i in devices
    ]
    for relay in (device for device in devices if relays[device]):
        for i in devices:
            for h in devices:
                relayed_s = seconds[i][relay] + seconds[relay][h]
                if relay not in (i, h) and i != h and relayed_s < seconds[i][h]:
                    seconds[i][h] = relayed_s
                    routes[i][h] = routes[i][relay] + routes[relay][h]
    return tuple(map(tuple, routes))
