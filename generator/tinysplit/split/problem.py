"""The splitting problem of seed 000, section 2: what each layer costs on each device, and what an assignment costs."""

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from math import inf, isfinite

from tinysplit.common.alignment import aligned
from tinysplit.split.topology import NETWORK_INPUT, Cut, Hop, Links
from tinysplit.split.validate import check_costs, check_limits, check_order, check_power, check_size


class Objective(StrEnum):
    """What a split is best in.

    `latency` is I, formula 5; `throughput` is the inverse of the period, formula 6; `energy` is joules an inference.
    """

    LATENCY = "latency"
    THROUGHPUT = "throughput"
    ENERGY = "energy"


class Period(StrEnum):
    """How often answers can come.

    `load`: boards have queues between them, so the busiest one sets the pace, or a half-duplex link whose two
    directions take more time together. `span`: no queues, a device takes the next input only when its last sub-model
    is done (seed 000, section 2.2: without this two inferences overlap on one device). `paper`: the span of the busiest
    device alone, which is what seed 000's Table 4 was computed with. `old`: the definition that seed 000 improves on,
    the device with most computation and what it sends. Where devices are equally busy the largest period counts.
    """

    LOAD = "load"
    SPAN = "span"
    PAPER = "paper"
    OLD = "old"


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
        check_size(len(self.layers), len(self.devices), len(self.transfer_seconds))
        for layer, table in zip(self.layers, self.transfer_seconds, strict=True):
            costs = (layer.seconds, layer.flash_bytes, layer.ram_bytes)
            check_costs(layer.name, layer.out_bytes, costs, table, len(self.devices))
        check_order([layer.name for layer in self.layers], self.predecessors, self.readers)
        for device in self.devices:
            check_power(device.name, device.run_w, device.transfer_w, device.idle_w)
        check_limits(self.max_latency_s, self.max_period_s, self.max_energy_j, self.frame_period_s)

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

    def cut(self, layer: int, sender: int, receiver: int) -> Cut:
        """Return the cut that carries the output of `layer` from `sender` to `receiver`."""
        seconds = self.transfer_seconds[layer][sender][receiver]
        return Cut(layer, sender, receiver, self.layers[layer].out_bytes, seconds)

    def hops(self, cut: Cut) -> tuple[Hop, ...]:
        """Return the links that `cut` takes one after the other; none where nothing gets through."""
        if self.links is None:
            return (Hop(cut.sender, cut.receiver, cut.seconds),)
        return self.links.routes[cut.after_layer][cut.sender][cut.receiver]

    def held_bytes(self, tensor: int) -> int:
        """Return the RAM that a layer's output (or NETWORK_INPUT) takes where it is kept."""
        return aligned(self.input_bytes if tensor == NETWORK_INPUT else self.layers[tensor].out_bytes)


def within(value: float, limit: float) -> bool:
    """Return whether `value` is at most `limit`, but for rounding."""
    return value <= limit * (1 + ROUNDING)


def is_better(value: float, other: float) -> bool:
    """Return whether `value` is below `other` by more than rounding."""
    return value < other * (1 - ROUNDING)
