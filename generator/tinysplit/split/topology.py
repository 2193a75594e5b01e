"""Links between pairs of boards, each with times of its own, and the way that a tensor takes where there is none."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, isfinite
from typing import NamedTuple, Self

NETWORK_INPUT = -1  # in place of a layer's index: the tensor that the host sends

Pair = tuple[int, int]  # the smaller device first
Table = tuple[tuple[tuple[float, ...], ...], ...]  # seconds by [layer][from][to]


class Hop(NamedTuple):
    """A tensor on one link; a board between two hops holds the whole tensor before it sends it on."""

    sender: int
    receiver: int
    seconds: float


@dataclass(frozen=True)
class Cut:
    """A tensor that crosses between devices, once whatever reads it there: the output of `after_layer`; numbers from 0.

    `seconds` are those of all hops where other devices pass it on.
    """

    after_layer: int
    sender: int
    receiver: int
    payload_bytes: int
    seconds: float


Routes = tuple[tuple[tuple[Hop, ...], ...], ...]  # by [from][to]; empty for from = to and where nothing gets through


@dataclass(frozen=True)
class Links:
    """The links of a problem; what has to pass boards between is paid on every hop.

    `direct` is T of each layer's output over the link of a pair, infinite for a pair without one. `relays` says which
    device has room for which layer's output on its way. On a half-duplex link both directions take turns.
    """

    direct: Table
    relays: tuple[tuple[bool, ...], ...]  # [layer][device]
    half_duplex: frozenset[Pair] = frozenset()

    @cached_property
    def routes(self) -> tuple[Routes, ...]:
        """The fastest way of each layer's output, [layer][from][to]."""
        return tuple(map(_fastest, self.direct, self.relays))

    @cached_property
    def transfer_seconds(self) -> Table:
        """Seconds of each layer's output on its way, all hops together; infinite where nothing gets through."""
        return tuple(
            tuple(
                tuple(0.0 if i == h else sum(hop.seconds for hop in way) if way else inf for h, way in enumerate(row))
                for i, row in enumerate(routes)
            )
            for routes in self.routes
        )

    def without(self, pairs: Collection[Pair]) -> Self:
        """Return the links without those of `pairs`."""
        direct = tuple(
            tuple(
                tuple(inf if pair_of(i, h) in pairs else seconds for h, seconds in enumerate(row))
                for i, row in enumerate(table)
            )
            for table in self.direct
        )
        return type(self)(direct, self.relays, self.half_duplex)


def pair_of(a: int, b: int) -> Pair:
    """Return the pair that two devices are."""
    return (a, b) if a < b else (b, a)


def _fastest(direct: Sequence[Sequence[float]], relays: Sequence[bool]) -> Routes:
    """Return the fastest ways between all devices (Floyd and Warshall); a direct link wins over an equally fast way."""
    devices = range(len(direct))
    seconds = [list(row) for row in direct]
    ways: list[list[tuple[Hop, ...]]] = [
        [(Hop(i, h, direct[i][h]),) if i != h and isfinite(direct[i][h]) else () for h in devices] for i in devices
    ]
    for between in (device for device in devices if relays[device]):
        for i in devices:
            for h in devices:
                over_s = seconds[i][between] + seconds[between][h]
                if between not in (i, h) and i != h and over_s < seconds[i][h]:
                    seconds[i][h] = over_s
                    ways[i][h] = ways[i][between] + ways[between][h]
    return tuple(map(tuple, ways))
