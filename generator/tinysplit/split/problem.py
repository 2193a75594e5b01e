"""The splitting problem of seed 000, section 2: what each layer costs on each device, and what an assignment costs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from math import inf, isfinite

from tinysplit.errors import InputError, UsageError
from tinysplit.split.period import Period, period_s


class Objective(StrEnum):
    """What a split is best in: `latency` is I, formula 5; `throughput` is the inverse of the period, formula 6."""

    LATENCY = "latency"
    THROUGHPUT = "throughput"


ROUNDING = 1e-9  # relative, of sums of the same times in another order

Assignment = tuple[int, ...]  # 0-based device of every layer


@dataclass(frozen=True)
class LayerCosts:
    """Costs of one layer; `seconds` has one entry a device, infinite where the device cannot run it."""

    name: str
    flash_bytes: int  # constants and code
    ram_bytes: int  # input plus output while it runs
    out_bytes: int  # what crosses a cut behind this layer
    seconds: tuple[float, ...]  # formula 1


@dataclass(frozen=True)
class DeviceLimits:
    """What a device has left for layers."""

    name: str
    flash_bytes: int
    ram_bytes: int


@dataclass(frozen=True)
class SubModel:
    """A maximal run of consecutive layers on one device; all numbers from 0, `last` included."""

    device: int
    first: int
    last: int


@dataclass(frozen=True)
class Cut:
    """A tensor that crosses between devices: the output of `after_layer`; all numbers from 0."""

    after_layer: int
    sender: int
    receiver: int
    payload_bytes: int
    seconds: float


@dataclass(frozen=True)
class Figures:
    """What an assignment costs: L and T in seconds (formulas 2 and 4), flash and RAM of every device in bytes."""

    l_s: float
    t_s: float
    flash_bytes: tuple[int, ...]  # summed over the device's layers
    ram_bytes: tuple[int, ...]  # their maximum

    @property
    def i_s(self) -> float:
        """Total inference latency, I = L + T (formula 5)."""
        return self.l_s + self.t_s


@dataclass(frozen=True)
class Problem:
    """Layers in their order, devices, and the time that a tensor needs on the link between two devices.

    A device may hold several sub-models and need not be used. What the host sends and receives is not counted. The
    two switches are conventions of seed 000's published figures: its Table 4 uses every device, and never cuts
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

    def __post_init__(self) -> None:
        """Raise InputError for missing, negative or undefined costs."""
        if not self.layers or not self.devices:
            raise InputError(f"nothing to split: {len(self.layers)} layers on {len(self.devices)} boards")
        n_devices = len(self.devices)
        if len(self.transfer_seconds) != len(self.layers):
            raise InputError(f"{len(self.transfer_seconds)} transfer tables for {len(self.layers)} layers")
        for layer, table in zip(self.layers, self.transfer_seconds, strict=True):
            rows = (layer.seconds, *table)
            if len(rows) != n_devices + 1 or any(len(row) != n_devices for row in rows):
                raise InputError(f"layer {layer.name!r} has no cost for each of the {n_devices} boards")
            numbers = (layer.flash_bytes, layer.ram_bytes, layer.out_bytes, *(s for row in rows for s in row))
            if not all(number >= 0 for number in numbers):  # also false for NaN
                raise InputError(f"layer {layer.name!r} has a cost below zero or undefined")
            if any(table[device][device] for device in range(n_devices)):
                raise InputError(f"layer {layer.name!r} has a transfer cost from a board to itself")
        for what, limit in (("latency", self.max_latency_s), ("period", self.max_period_s)):
            if not limit > 0:  # also true for NaN
                raise UsageError(f"a largest {what} of {limit:g} s leaves no split: name a time above zero")

    @cached_property
    def usable_seconds(self) -> tuple[tuple[float, ...], ...]:
        """Seconds by layer and device, infinite where the layer alone does not fit into the device."""
        return tuple(
            tuple(
                seconds if layer.ram_bytes <= device.ram_bytes and layer.flash_bytes <= device.flash_bytes else inf
                for seconds, device in zip(layer.seconds, self.devices, strict=True)
            )
            for layer in self.layers
        )

    @property
    def asks_for_period(self) -> bool:
        """Whether the period decides which split is best or which is feasible."""
        return self.objective is Objective.THROUGHPUT or isfinite(self.max_period_s)

    @property
    def is_limited(self) -> bool:
        """Whether I or the period has a limit."""
        return isfinite(self.max_latency_s) or isfinite(self.max_period_s)

    def without_limits(self) -> "Problem":
        """Return the problem with any I and any period allowed."""
        return replace(self, max_latency_s=inf, max_period_s=inf)

    @property
    def n_candidates(self) -> int:
        """Number of assignments, d^n."""
        return int(len(self.devices) ** len(self.layers))

    def figures(self, assignment: Assignment) -> Figures:
        """Return what `assignment` costs, feasible or not."""
        own_layers = [
            [layer for layer, owner in zip(self.layers, assignment, strict=True) if owner == device]
            for device in range(len(self.devices))
        ]
        return Figures(
            l_s=sum(layer.seconds[device] for layer, device in zip(self.layers, assignment, strict=True)),
            t_s=sum(cut.seconds for cut in self.cuts(assignment)),
            flash_bytes=tuple(sum(layer.flash_bytes for layer in layers) for layers in own_layers),
            ram_bytes=tuple(max((layer.ram_bytes for layer in layers), default=0) for layers in own_layers),
        )

    def period_s(self, assignment: Assignment) -> float:
        """Return the seconds between two answers of `assignment`, as `period_definition` has it."""
        return period_s(self, assignment, self.period_definition)

    def value(self, assignment: Assignment) -> float:
        """Return the seconds that are minimized, I or the period, feasible or not."""
        if self.objective is Objective.THROUGHPUT:
            return self.period_s(assignment)
        return self.figures(assignment).i_s

    def cuts(self, assignment: Assignment) -> tuple[Cut, ...]:
        """Return the cuts of `assignment` in the order of the layers."""
        return tuple(
            Cut(layer, sender, receiver, self.layers[layer].out_bytes, self.transfer_seconds[layer][sender][receiver])
            for layer, sender, receiver in crossings(assignment)
        )

    def is_feasible(self, assignment: Assignment) -> bool:
        """Return whether every memory holds what `assignment` puts there, all times are finite and all rules kept."""
        figures = self.figures(assignment)
        fits = all(
            flash <= device.flash_bytes and ram <= device.ram_bytes
            for flash, ram, device in zip(figures.flash_bytes, figures.ram_bytes, self.devices, strict=True)
        )
        all_used = not self.must_use_all or len(set(assignment)) == len(self.devices)
        tail_whole = not self.keep_last_two or len(set(assignment[-2:])) == 1
        in_time = isfinite(figures.i_s) and within(figures.i_s, self.max_latency_s)
        often_enough = not isfinite(self.max_period_s) or within(self.period_s(assignment), self.max_period_s)
        return fits and in_time and often_enough and all_used and tail_whole


def within(value: float, limit: float) -> bool:
    """Return whether `value` is at most `limit`, but for rounding."""
    return value <= limit * (1 + ROUNDING)


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
