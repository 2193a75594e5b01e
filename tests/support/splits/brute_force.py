"""Brute force over all assignments: the definitions once more, sharing no code with ours.

One inference is played through event by event: what the host sends, each layer, and its output over one link after the
other. All figures are sums over these events. Only the tables of a `Problem` are read, none of its methods. Problems
that differ only in memories, limits, rules and objective share what was played through.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise, permutations, product
from math import inf, isclose, isfinite

from splits.played_firmware import PlayedFirmware, Staged, Step, listed, staged
from tinysplit.split.problem import Objective, Period, Problem

HOST_INPUT = -1
SLACK = 1 + 1e-9  # limits are kept but for rounding

Way = tuple[int, ...]  # devices that a tensor passes, both ends included


@dataclass(frozen=True)
class Event:
    """A device computes (no peer, not the host), sends to a peer, or talks to the host."""

    device: int
    seconds: float
    peer: int | None = None
    with_host: bool = False


@dataclass(frozen=True)
class Outcome:
    latency_s: float
    period_s: float
    energy_j: float
    flash_bytes: tuple[int, ...]
    ram_bytes: tuple[int, ...]


@dataclass(frozen=True)
class Played:
    """What an assignment does whatever the limits are; `idle_w` of all powered devices together.

    The period `firmware` depends on the limits of RAM, and is not here.
    """

    latency_s: float
    period_s: float
    active_j: float
    idle_w: float
    flash_bytes: tuple[int, ...]
    ram_bytes: tuple[int, ...]


class BruteForce:
    """The figures of every assignment of one problem, and the least of them."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.n_devices = len(problem.devices)
        self.player = _player(_without_limits(problem))
        self.inputs, self.ways = self.player.inputs, self.player.ways

    def least(self) -> float:
        """Return the least objective of all feasible assignments, infinite for none."""
        return min((self.value(found) for _, found in self.feasible()), default=inf)

    def feasible(self) -> Iterator[tuple[tuple[int, ...], Outcome]]:
        for assignment in product(range(self.n_devices), repeat=len(self.problem.layers)):
            if self._breaks_a_rule(assignment) or self._overfills_flash(assignment):
                continue
            found = self.outcome(assignment)
            if self.keeps_limits(found):
                yield assignment, found

    def value(self, found: Outcome) -> float:
        return {
            Objective.LATENCY: found.latency_s,
            Objective.THROUGHPUT: found.period_s,
            Objective.ENERGY: found.energy_j,
        }[self.problem.objective]

    def is_feasible(self, assignment: tuple[int, ...]) -> bool:
        return not self._breaks_a_rule(assignment) and self.keeps_limits(self.outcome(assignment))

    def keeps_limits(self, found: Outcome) -> bool:
        problem = self.problem
        fits = all(
            flash <= device.flash_bytes and ram <= device.ram_bytes
            for flash, ram, device in zip(found.flash_bytes, found.ram_bytes, problem.devices, strict=True)
        )
        return (
            fits
            and isfinite(found.latency_s)
            and found.latency_s <= problem.max_latency_s * SLACK
            and found.period_s <= min(problem.max_period_s, problem.frame_period_s or inf) * SLACK
            and found.energy_j <= problem.max_energy_j * SLACK
        )

    def outcome(self, assignment: tuple[int, ...]) -> Outcome:
        played = self.player.play(assignment)
        period_s = played.period_s
        if self.problem.period_definition is Period.FIRMWARE:
            period_s = self.player.firmware_period_s(assignment, self.problem) if isfinite(played.latency_s) else inf
        energy_period_s = self.problem.frame_period_s or period_s
        return Outcome(
            latency_s=played.latency_s,
            period_s=period_s,
            energy_j=played.idle_w * energy_period_s + played.active_j,
            flash_bytes=played.flash_bytes,
            ram_bytes=played.ram_bytes,
        )

    def _breaks_a_rule(self, assignment: tuple[int, ...]) -> bool:
        problem = self.problem
        if problem.must_use_all and len(set(assignment)) < self.n_devices:
            return True
        return any(assignment[layer] != assignment[layer + 1] for layer in problem.joined)

    def _overfills_flash(self, assignment: tuple[int, ...]) -> bool:
        return any(
            flash > device.flash_bytes
            for flash, device in zip(self.player.flash(assignment), self.problem.devices, strict=True)
        )


def _without_limits(problem: Problem) -> Problem:
    """Return `problem` with what all that share a player have in common."""
    devices = tuple(replace(device, flash_bytes=0, ram_bytes=0) for device in problem.devices)
    return replace(
        problem,
        devices=devices,
        objective=Objective.LATENCY,
        must_use_all=False,
        joined=frozenset(),
        max_latency_s=inf,
        max_period_s=inf,
        max_energy_j=inf,
        frame_period_s=0.0,
    )


@lru_cache(maxsize=2)
def _player(problem: Problem) -> "_Player":
    return _Player(problem)


class _Player:
    """Plays assignments through, each once."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.n_devices = len(problem.devices)
        self.inputs = [
            sorted({number - 1} if layer.inputs is None else set(layer.inputs))
            for number, layer in enumerate(problem.layers)
        ]
        self.readers = {
            tensor: [k for k, inputs in enumerate(self.inputs) if tensor in inputs]
            for tensor in range(HOST_INPUT, len(problem.layers))
        }
        self.ways = [
            {(i, h): self._way(layer, i, h) for i, h in product(range(self.n_devices), repeat=2) if i != h}
            for layer in range(len(problem.layers))
        ]
        self._played: dict[tuple[int, ...], Played] = {}
        self._firmware: dict[tuple[tuple[int, ...], Staged], float] = {}

    def play(self, assignment: tuple[int, ...]) -> Played:
        if assignment not in self._played:
            events = list(self._events(assignment))
            devices = self.problem.devices
            self._played[assignment] = Played(
                latency_s=sum(event.seconds for event in events),
                period_s=self._period(events),
                active_j=self._active_j(events),
                idle_w=sum(devices[powered].idle_w for powered in {event.device for event in events}),
                flash_bytes=self.flash(assignment),
                ram_bytes=self._ram(assignment),
            )
        return self._played[assignment]

    def firmware_period_s(self, assignment: tuple[int, ...], problem: Problem) -> float:
        steps = self._firmware_steps(assignment)
        buffers = staged(problem, steps, self.play(assignment).ram_bytes)
        if (assignment, buffers) not in self._firmware:
            self._firmware[assignment, buffers] = PlayedFirmware(problem, steps, buffers).period_s()
        return self._firmware[assignment, buffers]

    def _firmware_steps(self, assignment: tuple[int, ...]) -> list[Step]:
        moves = [
            [
                hop
                for receiver in self._receivers(assignment, layer)
                if receiver != owner
                for hop in pairwise(self.ways[layer][owner, receiver])
            ]
            for layer, owner in enumerate(assignment)
        ]
        seconds = [layer.seconds[owner] for layer, owner in zip(self.problem.layers, assignment, strict=True)]
        return list(listed(assignment, seconds, moves, self._receivers(assignment, HOST_INPUT)))

    def flash(self, assignment: tuple[int, ...]) -> tuple[int, ...]:
        flash = [0] * self.n_devices
        for layer, device in zip(self.problem.layers, assignment, strict=True):
            flash[device] += layer.flash_bytes[device]
        return tuple(flash)

    def _way(self, layer: int, sender: int, receiver: int) -> Way:
        """Return the fastest of all ways that visit no device twice, the direct one where it is as fast."""
        links = self.problem.links
        if links is None:
            return (sender, receiver)
        between = [d for d in range(self.n_devices) if d not in (sender, receiver) and links.relays[layer][d]]
        ways = [(sender, *over, receiver) for count in range(len(between) + 1) for over in permutations(between, count)]
        return min(ways, key=lambda way: (self._way_s(layer, way), len(way)))

    def _way_s(self, layer: int, way: Way) -> float:
        return sum(self._hop_s(layer, i, h) for i, h in pairwise(way))

    def _hop_s(self, layer: int, sender: int, receiver: int) -> float:
        links = self.problem.links
        table = self.problem.transfer_seconds if links is None else links.direct
        return table[layer][sender][receiver]

    def _receivers(self, assignment: tuple[int, ...], layer: int) -> list[int]:
        """Return the devices that need what `layer` gives, in the order in which they need it, one entry each."""
        return list(dict.fromkeys(assignment[k] for k in self.readers[layer]))

    def _events(self, assignment: tuple[int, ...]) -> Iterator[Event]:
        host = self.problem.host_seconds
        if host:
            yield from (
                Event(device, host[device][0], with_host=True) for device in self._receivers(assignment, HOST_INPUT)
            )
        for layer, owner in enumerate(assignment):
            yield Event(owner, self.problem.layers[layer].seconds[owner])
            for receiver in self._receivers(assignment, layer):
                if receiver != owner:
                    way = self.ways[layer][owner, receiver]
                    for i, h in pairwise(way):
                        yield Event(i, self._hop_s(layer, i, h), peer=h)
        if host:
            yield Event(assignment[-1], host[assignment[-1]][1], with_host=True)

    def _period(self, events: Sequence[Event]) -> float:
        computing: dict[int, float] = defaultdict(float)
        busy: dict[int, float] = defaultdict(float)
        lines: dict[frozenset[int], float] = defaultdict(float)
        first: dict[int, float] = {}
        last: dict[int, float] = {}
        now = 0.0
        half_duplex = {frozenset(pair) for pair in self.problem.links.half_duplex} if self.problem.links else set()
        for event in events:
            computing[event.device] += 0.0 if event.with_host or event.peer is not None else event.seconds
            busy[event.device] += event.seconds
            first.setdefault(event.device, now)
            now += event.seconds
            last[event.device] = now
            if event.peer is not None and frozenset((event.device, event.peer)) in half_duplex:
                lines[frozenset((event.device, event.peer))] += event.seconds
        span = {device: last[device] - first[device] for device in busy}
        return {
            Period.FIRMWARE: lambda: 0.0,  # `Firmware.period_s`
            Period.LOAD: lambda: max(*busy.values(), *lines.values(), 0.0),
            Period.SPAN: lambda: max(span.values()),
            Period.PAPER: lambda: max(span[device] for device in _largest(busy)),
            Period.OLD: lambda: max(busy[device] for device in _largest(computing)),
        }[self.problem.period_definition]()

    def _active_j(self, events: Sequence[Event]) -> float:
        """Return the joules of all that is done, beyond those of being idle meanwhile."""
        devices, joules = self.problem.devices, 0.0
        for event in events:
            talks = event.with_host or event.peer is not None
            for end in (event.device, *(() if event.peer is None else (event.peer,))):
                draws_w = devices[end].transfer_w if talks else devices[end].run_w
                joules += (draws_w - devices[end].idle_w) * event.seconds
        return joules

    def _running_bytes(self, assignment: tuple[int, ...], layer: int) -> int:
        owner = assignment[layer]
        running = self.problem.layers[layer].ram_bytes[owner]
        for fused in self.problem.fused:
            if layer == fused.producer and assignment[layer + 1] == owner:
                running = min(running, fused.producer_ram_bytes[owner])
            if layer == fused.producer + 1 and assignment[layer - 1] == owner:
                running = min(running, fused.consumer_ram_bytes[owner])
        return running

    def _ram(self, assignment: tuple[int, ...]) -> tuple[int, ...]:
        """Play the tensors through; a device that passes one on has a buffer of its own for it."""
        most = [0] * self.n_devices
        held: list[set[int]] = [set() for _ in most]
        for device in self._receivers(assignment, HOST_INPUT):
            held[device].add(HOST_INPUT)
        for layer, owner in enumerate(assignment):
            others = held[owner] - set(self.inputs[layer])
            most[owner] = max(most[owner], self._running_bytes(assignment, layer) + self._sum(others))
            held[owner].add(layer)
            for receiver in self._receivers(assignment, layer):
                held[receiver].add(layer)
            passing = set[int]()
            if self.problem.links:
                for receiver in set(self._receivers(assignment, layer)) - {owner}:
                    passing |= set(self.ways[layer][owner, receiver][1:-1])
            for device in set(range(self.n_devices)) - {owner}:
                more = self._sum({layer}) if device in passing else 0
                most[device] = max(most[device], self._sum(held[device]) + more)
            held = [
                {tensor for tensor in tensors if any(k > layer and assignment[k] == d for k in self.readers[tensor])}
                for d, tensors in enumerate(held)
            ]
        return tuple(most)

    def _sum(self, tensors: set[int]) -> int:
        sizes = (
            self.problem.input_bytes if tensor == HOST_INPUT else self.problem.layers[tensor].out_bytes
            for tensor in tensors
        )
        return sum((size + 3) // 4 * 4 for size in sizes)


def _largest(seconds: dict[int, float]) -> list[int]:
    most = max(seconds.values())
    return [device for device, value in seconds.items() if isclose(value, most, rel_tol=1e-10)]
