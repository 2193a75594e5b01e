"""The splitting problem of seed 000, section 2: what each layer costs on each device, and what an assignment costs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from math import inf, isfinite

from tinysplit.common.alignment import aligned
from tinysplit.split.evaluate.energy import energy_j
from tinysplit.split.evaluate.period import Period, period_s
from tinysplit.split.evaluate.ram import NETWORK_INPUT, ram_bytes
from tinysplit.split.evaluate.routes import Hop, Links
from tinysplit.split.validate import check_problem


class Objective(StrEnum):
    """What a split is best in.

    `latency` is I, formula 5; `throughput` is the inverse of the period, formula 6; `energy` is joules an inference.
    """

    LATENCY = "latency"
    THROUGHPUT = "throughput"
    ENERGY = "energy"


ROUNDING = 1e-9  # relative, of sums of the same times in another order

Assignment = tuple[int, ...]  # 0-based device of every layer


@dataclass(frozen=True)
class LayerCosts:
    """Costs of one layer; `flash_bytes`, `ram_bytes` and `seconds` have one entry a device.

    Kernels of different cores pack weights in their own ways and need scratch memory of their own. `seconds` are
    infinite where the device cannot run the layer.
    `inputs` are the layers whose outputs it reads, NETWORK_INPUT among them for what the host gives; None stands for
    the layer before it (the host's input for the first), as in a chain.
    """

    name: str
    flash_bytes: tuple[int, ...]  # constants and code
    ram_bytes: tuple[int, ...]  # inputs, output and scratch memory while it runs
    out_bytes: int  # what crosses a cut behind this layer
    seconds: tuple[float, ...]  # formula 1
    inputs: tuple[int, ...] | None = None

    @classmethod
    def alike(
        cls,
        name: str,
        flash_bytes: int,
        ram_bytes: int,
        out_bytes: int,
        seconds: tuple[float, ...],
        inputs: tuple[int, ...] | None = None,
    ) -> "LayerCosts":
        """Return a layer that needs the same memory on every device."""
        n_devices = len(seconds)
        return cls(name, (flash_bytes,) * n_devices, (ram_bytes,) * n_devices, out_bytes, seconds, inputs)


@dataclass(frozen=True)
class DeviceLimits:
    """What a device has left for layers, and what it draws while it computes, sends or receives, and waits."""

    name: str
    flash_bytes: int
    ram_bytes: int
    run_w: float = 0.0
    transfer_w: float = 0.0
    idle_w: float = 0.0


@dataclass(frozen=True)
class SubModel:
    """A maximal run of consecutive layers on one device; all numbers from 0, `last` included."""

    device: int
    first: int
    last: int


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


@dataclass(frozen=True)
class Figures:
    """What an assignment costs: L and T in seconds (formulas 2 and 4), flash and RAM of every device in bytes."""

    l_s: float
    t_s: float  # with the host's transfers where they count
    flash_bytes: tuple[int, ...]  # summed over the device's layers
    ram_bytes: tuple[int, ...]  # the most that is alive at once

    @property
    def i_s(self) -> float:
        """Total inference latency, I = L + T (formula 5)."""
        return self.l_s + self.t_s


@dataclass(frozen=True)
class Problem:
    """Layers in topological order, devices, and the time that a tensor needs from one device to another.

    A device may hold several sub-models and need not be used. `links` None: every pair of devices has a full-duplex
    link of its own, and `transfer_seconds` are its times; else they are those of `links`. `host_seconds` are what each
    device needs to take the network's input from the host and to give it the output, none where that is not counted.
    The two switches are conventions of seed 000's published figures: its Table 4 uses every device, and never cuts
    before the last layer.
    """

    layers: tuple[LayerCosts, ...]
    devices: tuple[DeviceLimits, ...]
    transfer_seconds: tuple[tuple[tuple[float, ...], ...], ...]  # [layer][from][to]: T of a cut, 0 for from = to
    objective: Objective = Objective.LATENCY
    must_use_all: bool = False
    keep_last_two: bool = False
    period_definition: Period = Period.LOAD
    max_latency_s: float = inf  # feasible splits have no larger I
    max_period_s: float = inf  # nor a larger period
    max_energy_j: float = inf  # nor need more energy an inference
    frame_period_s: float = 0.0  # inputs come so often, which feasible splits keep up with; 0: as fast as a split can
    links: Links | None = None
    host_seconds: tuple[tuple[float, float], ...] = ()  # [device]: (input, output)
    input_bytes: int = 0  # the network's input; counts where several layers read it

    def __post_init__(self) -> None:
        """Raise InputError for missing, negative or undefined costs and for cycles, UsageError for useless limits."""
        check_problem(self)

    @cached_property
    def predecessors(self) -> tuple[tuple[int, ...], ...]:
        """The layers whose outputs each layer reads, every one once, NETWORK_INPUT for the network's input."""
        return tuple(
            (number - 1,) if layer.inputs is None else tuple(dict.fromkeys(layer.inputs))
            for number, layer in enumerate(self.layers)
        )

    @cached_property
    def readers(self) -> tuple[tuple[int, ...], ...]:
        """The layers that read each layer's output; the last entry are those that read the network's input."""
        readers: list[list[int]] = [[] for _ in range(len(self.layers) + 1)]
        for layer, inputs in enumerate(self.predecessors):
            for tensor in inputs:
                readers[tensor].append(layer)
        return tuple(map(tuple, readers))

    @cached_property
    def is_chain(self) -> bool:
        """Whether every layer reads the output of the layer before it, and nothing else."""
        return all(inputs == (number - 1,) for number, inputs in enumerate(self.predecessors))

    @cached_property
    def usable_seconds(self) -> tuple[tuple[float, ...], ...]:
        """Seconds by layer and device, infinite where the layer alone does not fit into the device.

        In a chain the first and the last layer are charged with the host's transfers.
        """
        host = [[0.0] * len(self.devices) for _ in self.layers]
        if self.is_chain:
            for device, (in_s, out_s) in enumerate(self.host_seconds):
                host[0][device] += in_s
                host[-1][device] += out_s
        return tuple(
            tuple(
                seconds + more if flash <= device.flash_bytes and ram <= device.ram_bytes else inf
                for seconds, more, flash, ram, device in zip(
                    layer.seconds, row, layer.flash_bytes, layer.ram_bytes, self.devices, strict=True
                )
            )
            for layer, row in zip(self.layers, host, strict=True)
        )

    @cached_property
    def least_flash_bytes(self) -> tuple[int, ...]:
        """What each layer takes of flash at least, on whichever device it runs; 0 where none can run it."""
        return tuple(
            min((flash for flash, s in zip(layer.flash_bytes, row, strict=True) if isfinite(s)), default=0)
            for layer, row in zip(self.layers, self.usable_seconds, strict=True)
        )

    @property
    def asks_for_period(self) -> bool:
        """Whether the period decides which split is best or which is feasible."""
        return self.objective is Objective.THROUGHPUT or isfinite(self.longest_period_s) or self.asks_for_energy

    @property
    def asks_for_energy(self) -> bool:
        """Whether energy decides which split is best or which is feasible."""
        return self.objective is Objective.ENERGY or isfinite(self.max_energy_j)

    @property
    def longest_period_s(self) -> float:
        """The longest period that a feasible split may have."""
        return min(self.max_period_s, self.frame_period_s or inf)

    @property
    def is_limited(self) -> bool:
        """Whether I, the period or the energy has a limit."""
        return isfinite(min(self.max_latency_s, self.longest_period_s, self.max_energy_j))

    def without_limits(self) -> "Problem":
        """Return the problem with any I, any period and any energy allowed; idle power still counts as before."""
        return replace(self, max_latency_s=inf, max_period_s=inf, max_energy_j=inf)

    @property
    def n_candidates(self) -> int:
        """Number of assignments, d^n."""
        return int(len(self.devices) ** len(self.layers))

    def figures(self, assignment: Assignment) -> Figures:
        """Return what `assignment` costs, feasible or not."""
        flash_bytes = [0] * len(self.devices)
        for layer, device in zip(self.layers, assignment, strict=True):
            flash_bytes[device] += layer.flash_bytes[device]
        transfers_s = sum(cut.seconds for cut in self.cuts(assignment))
        return Figures(
            l_s=sum(layer.seconds[device] for layer, device in zip(self.layers, assignment, strict=True)),
            t_s=transfers_s + sum(seconds for _, seconds in self.host_transfers(assignment)),
            flash_bytes=tuple(flash_bytes),
            ram_bytes=ram_bytes(self, assignment),
        )

    def period_s(self, assignment: Assignment) -> float:
        """Return the seconds between two answers of `assignment`, as `period_definition` has it."""
        return period_s(self, assignment, self.period_definition)

    def energy_j(self, assignment: Assignment) -> float:
        """Return the joules of one inference."""
        return energy_j(self, assignment)

    def value(self, assignment: Assignment) -> float:
        """Return what is minimized, feasible or not: I or the period in seconds, or the energy in joules."""
        if self.objective is Objective.THROUGHPUT:
            return self.period_s(assignment)
        if self.objective is Objective.ENERGY:
            return self.energy_j(assignment)
        return self.figures(assignment).i_s

    def cuts(self, assignment: Assignment) -> tuple[Cut, ...]:
        """Return the cuts of `assignment` by layer, those of one layer in the order in which they are needed."""
        return tuple(
            Cut(layer, sender, receiver, self.layers[layer].out_bytes, self.transfer_seconds[layer][sender][receiver])
            for layer, sender in enumerate(assignment)
            for receiver in dict.fromkeys(assignment[reader] for reader in self.readers[layer])
            if receiver != sender
        )

    def hops(self, cut: Cut) -> tuple[Hop, ...]:
        """Return the links that `cut` takes one after the other; none where nothing gets through."""
        if self.links is None:
            return (Hop(cut.sender, cut.receiver, cut.seconds),)
        return self.links.routes[cut.after_layer][cut.sender][cut.receiver]

    def host_transfers(self, assignment: Assignment) -> tuple[tuple[int, float], ...]:
        """Return (device, seconds) of what the host sends and then reads; none where that is not counted."""
        if not self.host_seconds:
            return ()
        begins = dict.fromkeys(assignment[reader] for reader in self.readers[NETWORK_INPUT])
        taking = tuple((device, self.host_seconds[device][0]) for device in begins)
        return (*taking, (assignment[-1], self.host_seconds[assignment[-1]][1]))

    def powered(self, assignment: Assignment) -> frozenset[int]:
        """Return the devices that run a layer or pass a tensor on."""
        return frozenset(assignment) | {hop.sender for cut in self.cuts(assignment) for hop in self.hops(cut)}

    def held_bytes(self, tensor: int) -> int:
        """Return the RAM that a layer's output (or NETWORK_INPUT) takes where it is kept."""
        return aligned(self.input_bytes if tensor == NETWORK_INPUT else self.layers[tensor].out_bytes)

    def is_feasible(self, assignment: Assignment) -> bool:
        """Return whether every memory holds what `assignment` puts there, all times are finite and all rules kept."""
        figures = self.figures(assignment)
        fits = all(
            flash <= device.flash_bytes and ram <= device.ram_bytes
            for flash, ram, device in zip(figures.flash_bytes, figures.ram_bytes, self.devices, strict=True)
        )
        all_used = not self.must_use_all or len(set(assignment)) == len(self.devices)
        tail_whole = not self.keep_last_two or len(set(assignment[-2:])) == 1
        if not (fits and all_used and tail_whole and isfinite(figures.i_s)):
            return False
        return within(figures.i_s, self.max_latency_s) and self._keeps_pace(assignment)

    def _keeps_pace(self, assignment: Assignment) -> bool:
        often_enough = not isfinite(self.longest_period_s) or within(self.period_s(assignment), self.longest_period_s)
        return often_enough and (
            not isfinite(self.max_energy_j) or within(self.energy_j(assignment), self.max_energy_j)
        )


def within(value: float, limit: float) -> bool:
    """Return whether `value` is at most `limit`, but for rounding."""
    return value <= limit * (1 + ROUNDING)


def is_better(value: float, other: float) -> bool:
    """Return whether `value` is below `other` by more than rounding."""
    return value < other * (1 - ROUNDING)


def crossings(assignment: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return (layer, sender, receiver) wherever the device changes behind a layer."""
    return [
        (layer, sender, receiver) for layer, (sender, receiver) in enumerate(pairwise(assignment)) if sender != receiver
    ]


def sub_models(assignment: Sequence[int]) -> tuple[SubModel, ...]:
    """Return the maximal runs of consecutive layers on one device, in the order of the layers."""
    ends = [layer for layer, _, _ in crossings(assignment)] + [len(assignment) - 1]
    starts = [0, *(end + 1 for end in ends[:-1])]
    return tuple(SubModel(assignment[first], first, last) for first, last in zip(starts, ends, strict=True))
