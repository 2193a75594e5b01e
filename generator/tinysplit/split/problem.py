"""The splitting problem (Santamaria 2021, section 2) as data: layers, devices, transfers, objective and limits.

`split/evaluate` computes the figures of an assignment.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from functools import cached_property
from math import inf, isfinite
from typing import NamedTuple

from tinysplit.boards.board import no_energy_model
from tinysplit.common.alignment import aligned
from tinysplit.common.errors import InputError
from tinysplit.common.units import MILLI, MS
from tinysplit.split.validate import check_costs, check_limits, check_order, check_power, check_size
from tinysplit.timing.handoff import Handoff
from tinysplit.timing.topology import NETWORK_INPUT, Cut, Hop, Links, Table


class Objective(StrEnum):
    """What a solver minimises.

    `latency`: I (Santamaria 2021, formula 5). `throughput`: the period, whose inverse is throughput (formula 6).
    `energy`: joules per inference.
    """

    LATENCY = "latency"
    THROUGHPUT = "throughput"
    ENERGY = "energy"

    @property
    def noun(self) -> str:
        """What is minimised."""
        return "period" if self is Objective.THROUGHPUT else str(self)

    @property
    def unit(self) -> str:
        """The unit in which values are shown."""
        return "mJ" if self is Objective.ENERGY else "ms"

    @property
    def limit(self) -> str:
        """The field of settings and problems that limits what is minimised."""
        return "max_energy_j" if self is Objective.ENERGY else f"max_{self.noun}_s"

    def number(self, value: float) -> str:
        """Return a value, in seconds or joules, as it is shown."""
        return f"{value * MILLI:.3f}" if self is Objective.ENERGY else f"{value * MS:.2f}"

    def text(self, value: float) -> str:
        """Return a value with its unit."""
        return f"{self.number(value)} {self.unit}"


class Period(StrEnum):
    """Definitions of the period, the time between two outputs (Santamaria 2021, section 2.2, formulas 6 and 7).

    `firmware`: that of the generated firmware, with its order of steps and its buffers. The others are ideals. `load`:
    devices have queues between them; the busiest device sets the period, or a half-duplex link whose two directions
    together take longer. `span`: no queues; a device takes the next input when its last sub-model is done,
    so that two inferences never overlap on one device. `paper`: the span of the busiest device alone, as in Santamaria
    2021, Table 4. `old`: computing and sending of the device with the most computation, which Santamaria 2021 improves
    on. Among equally busy devices the largest period counts.
    """

    FIRMWARE = "firmware"
    LOAD = "load"
    SPAN = "span"
    PAPER = "paper"
    OLD = "old"


ROUNDING = 1e-9  # relative error of sums of the same numbers in another order

Assignment = tuple[int, ...]  # 0-based device of every layer


class ConstantsInRam(NamedTuple):
    """A copy of a layer's constants in RAM, which the layer makes before it runs where RAM is idle."""

    size_bytes: int  # 0: none
    saved_s: float  # by the copy, which the layer's seconds expect


@dataclass(frozen=True)
class LayerCosts:
    """Costs of one layer; `flash_bytes`, `ram_bytes`, `seconds` and `constants` have one entry per device.

    Kernels of different cores pack weights differently and need different scratch memory. `seconds` are infinite on
    a device that cannot run the layer. `inputs` are the 0-based layers whose outputs this one reads, or NETWORK_INPUT;
    None means the previous layer (for the first layer: the network's input), as in a chain.
    """

    name: str
    flash_bytes: tuple[int, ...]  # constants and code
    ram_bytes: tuple[int, ...]  # inputs, output and scratch memory while the layer runs
    out_bytes: int  # payload of a cut after this layer
    seconds: tuple[float, ...]  # Santamaria 2021, formula 1
    inputs: tuple[int, ...] | None = None
    constants: tuple[ConstantsInRam, ...] = ()  # empty: no device copies them

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

    def on(self, devices: Sequence[int]) -> "LayerCosts":
        """Return the costs on these devices, each of which may occur several times."""
        return replace(
            self,
            flash_bytes=tuple(self.flash_bytes[device] for device in devices),
            ram_bytes=tuple(self.ram_bytes[device] for device in devices),
            seconds=tuple(self.seconds[device] for device in devices),
            constants=tuple(self.constants[device] for device in devices) if self.constants else (),
        )


@dataclass(frozen=True)
class FusedLayers:
    """A layer and the one after it, its only reader, with the RAM that they take where they run fused on a device.

    Both have one entry per device: inputs of the producer, output of the consumer, scratch memory, and some rows of
    what is between them. What later layers read of the inputs counts once: `consumer_ram_bytes` is without it.
    """

    producer: int  # 0-based
    producer_ram_bytes: tuple[int, ...]
    consumer_ram_bytes: tuple[int, ...]

    @property
    def layers(self) -> tuple[int, int]:
        """The producer and the consumer."""
        return self.producer, self.producer + 1

    @property
    def ram_bytes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Bytes of RAM by [layer][device]."""
        return self.producer_ram_bytes, self.consumer_ram_bytes

    def on(self, devices: Sequence[int]) -> "FusedLayers":
        """Return the same layers on these devices, each of which may occur several times."""
        return FusedLayers(
            self.producer,
            tuple(self.producer_ram_bytes[device] for device in devices),
            tuple(self.consumer_ram_bytes[device] for device in devices),
        )


@dataclass(frozen=True)
class KernelCosts:
    """Costs of all layers with their fastest kernels, alone and fused, and with `smaller` ones, None where none differ.

    Which layers have smaller ones follows from an assignment (`split/evaluate/kernels.py`).
    """

    layers: tuple[LayerCosts, ...]
    fused: tuple[FusedLayers, ...] = ()
    smaller: "KernelCosts | None" = None

    def on(self, devices: Sequence[int]) -> "KernelCosts":
        """Return the costs on these devices, each of which may occur several times."""
        return KernelCosts(
            tuple(layer.on(devices) for layer in self.layers),
            tuple(fused.on(devices) for fused in self.fused),
            self.smaller and self.smaller.on(devices),
        )


@dataclass(frozen=True)
class DeviceLimits:
    """Memory of a device that is free for layers, and its power while it computes, transfers or idles.

    A device without links has `link_flash_bytes` more. A link takes one of `driver_bytes` of the RAM for its driver,
    the first that fits, and more for each tensor (`memory/link_memory.py`); without `driver_bytes` it takes none.
    """

    name: str
    flash_bytes: int
    ram_bytes: int
    run_w: float = 0.0
    transfer_w: float = 0.0  # while it sends or receives
    idle_w: float = 0.0
    stop_w: float | None = None  # in stop mode, None if that is not known
    rest_w: float | None = None  # until the next input, on average, where boards stop; None: idle_w
    link_flash_bytes: int = 0
    driver_bytes: tuple[int, ...] = ()
    core: str = ""  # whose times these are: GCC's -mcpu, "" of times that are given

    @property
    def between_w(self) -> float:
        """Power while it does nothing for an inference."""
        return self.idle_w if self.rest_w is None else self.rest_w

    @property
    def without_links(self) -> "DeviceLimits":
        """The same device where no other one is linked to it."""
        flash_bytes = self.flash_bytes + self.link_flash_bytes
        return replace(self, flash_bytes=flash_bytes, transfer_w=self.run_w, link_flash_bytes=0, driver_bytes=())


def check_currents(devices: Sequence[DeviceLimits]) -> None:
    """Raise InputError, which names the device, where the currents of one are not known."""
    for device in devices:
        if not device.run_w:
            raise InputError(no_energy_model(device.name))


@dataclass(frozen=True)
class Problem:
    """Layers in topological order, devices, transfer times, an objective and limits.

    A device may run several sub-models and may stay unused. Without `links` every pair of devices has a full-duplex
    link of its own with the times `transfer_seconds`; with `links`, `transfer_seconds` are the times of their routes.
    `host_seconds` are the times in which the host sends the network's input to each device and reads the output from
    it; empty if they are not counted. `handoff` has the parts of the transfers, for the period `firmware`; without it
    they take `transfer_seconds` on the line and no CPU, and the host takes `host_seconds`.

    Each layer of `joined` runs on the device of the layer after it; `fused` has layers that take less RAM where they
    run on one device. `must_use_all`, and `joined` with the last layer but one, are conventions of Santamaria 2021,
    Table 4: every device runs a layer, and there is no cut before the last layer.
    """

    layers: tuple[LayerCosts, ...]
    devices: tuple[DeviceLimits, ...]
    transfer_seconds: Table  # 0 for sender = receiver
    objective: Objective = Objective.LATENCY
    must_use_all: bool = False
    joined: frozenset[int] = frozenset()
    fused: tuple[FusedLayers, ...] = ()
    period_definition: Period = Period.LOAD
    max_latency_s: float = inf  # limits of feasible splits
    max_period_s: float = inf
    max_energy_j: float = inf
    max_arena_bytes: float = inf  # of every device, whatever its RAM (`split/least_arena.py`)
    frame_period_s: float = 0.0  # time between inputs, an upper limit of the period; 0: as fast as the split takes them
    links: Links | None = None
    host_seconds: tuple[tuple[float, float], ...] = ()  # [device]: (input, output)
    input_bytes: int = 0  # the network's input; needed if several layers read it
    handoff: Handoff | None = None
    origins: tuple[int, ...] = ()  # of a distributed network (network/distribute.py): the layer that each is a part of
    arena_bytes: tuple[int, ...] = ()  # of a distributed network, [device]: all that its parts and transfers take,
    record_bytes: tuple[int, ...] = ()  # and the records of their times
    smaller: KernelCosts | None = None  # see `KernelCosts`
    minimises_ram: bool = False  # else smaller kernels are those of little flash
    small: frozenset[int] = frozenset()  # the layers that have smaller kernels, once an assignment has chosen
    alone: KernelCosts | None = None  # of a device that has all layers, None where they are the same
    may_stream: bool = False  # rows may cross while layers compute others, which searches and bounds do not count
    keeps_state: bool = False  # an inference depends on those before it: there is one copy of the network

    def __post_init__(self) -> None:
        """Check the problem.

        Raises InputError for missing, negative or undefined costs and for cycles, UsageError for limits that exclude
        every split and for too many devices.
        """
        check_size(len(self.layers), len(self.devices), len(self.transfer_seconds))
        for layer, table in zip(self.layers, self.transfer_seconds, strict=True):
            costs = (layer.seconds, layer.flash_bytes, layer.ram_bytes)
            check_costs(layer.name, layer.out_bytes, costs, table, len(self.devices))
        check_order([layer.name for layer in self.layers], self.predecessors, self.readers)
        for device in self.devices:
            check_power(device.name, device.run_w, device.transfer_w, device.idle_w)
        check_limits(self.max_latency_s, self.max_period_s, self.max_energy_j, self.frame_period_s)

    @property
    def is_distributed(self) -> bool:
        """Whether the layers are parts of layers, and boards compute while tensors cross."""
        return bool(self.origins)

    @cached_property
    def predecessors(self) -> tuple[tuple[int, ...], ...]:
        """For each layer the layers whose outputs it reads, each once; NETWORK_INPUT for the network's input."""
        return tuple(
            (number - 1,) if layer.inputs is None else tuple(dict.fromkeys(layer.inputs))
            for number, layer in enumerate(self.layers)
        )

    @cached_property
    def readers(self) -> tuple[tuple[int, ...], ...]:
        """For each layer the layers that read its output; the last entry is for the network's input."""
        readers: list[list[int]] = [[] for _ in range(len(self.layers) + 1)]
        for layer, inputs in enumerate(self.predecessors):
            for tensor in inputs:
                readers[tensor].append(layer)
        return tuple(map(tuple, readers))

    @cached_property
    def is_chain(self) -> bool:
        """Whether every layer reads the output of the previous layer only."""
        return all(inputs == (number - 1,) for number, inputs in enumerate(self.predecessors))

    @cached_property
    def handoff_parts(self) -> Handoff:
        """What transfers take from lines and CPUs."""
        direct = self.links.direct if self.links else self.transfer_seconds
        return self.handoff or Handoff.of_lines(direct, self.host_seconds)

    @cached_property
    def arena_limits(self) -> tuple[float, ...]:
        """The bytes that the arena of each device may have, of which links take some."""
        return tuple(min(device.ram_bytes, self.max_arena_bytes) for device in self.devices)

    @cached_property
    def usable_seconds(self) -> tuple[tuple[float, ...], ...]:
        """Seconds by [layer][device], infinite if the layer alone does not fit into the device's memory.

        In a chain, the first and the last layer include the host's transfers.
        """
        host = [[0.0] * len(self.devices) for _ in self.layers]
        if self.is_chain:
            for device, (in_s, out_s) in enumerate(self.host_seconds):
                host[0][device] += in_s
                host[-1][device] += out_s
        return tuple(
            tuple(
                seconds + more if flash <= device.flash_bytes and ram <= limit else inf
                for seconds, more, flash, ram, device, limit in zip(
                    layer.seconds, row, layer.flash_bytes, layer.ram_bytes, self.devices, self.arena_limits, strict=True
                )
            )
            for layer, row in zip(self.layers, host, strict=True)
        )

    @cached_property
    def least_flash_bytes(self) -> tuple[int, ...]:
        """For each layer the least flash that it needs on any device that can run it; 0 if none can."""
        return tuple(
            min((flash for flash, s in zip(layer.flash_bytes, row, strict=True) if isfinite(s)), default=0)
            for layer, row in zip(self.layers, self.usable_seconds, strict=True)
        )

    @property
    def asks_for_period(self) -> bool:
        """Whether the objective or a limit depends on the period."""
        return self.objective is Objective.THROUGHPUT or isfinite(self.longest_period_s) or self.asks_for_energy

    @property
    def asks_for_energy(self) -> bool:
        """Whether the objective or a limit depends on energy."""
        return self.objective is Objective.ENERGY or isfinite(self.max_energy_j)

    @property
    def longest_period_s(self) -> float:
        """Upper limit of the period of a feasible split, in seconds."""
        return min(self.max_period_s, self.frame_period_s or inf)

    @property
    def is_limited(self) -> bool:
        """Whether I, the period or the energy has a limit."""
        return isfinite(min(self.max_latency_s, self.longest_period_s, self.max_energy_j))

    def without_limits(self) -> "Problem":
        """Return the problem without limits on latency, period and energy; `frame_period_s` stays."""
        return replace(self, max_latency_s=inf, max_period_s=inf, max_energy_j=inf)

    @property
    def costs(self) -> KernelCosts:
        """The costs of all layers, where no device has all of them."""
        return KernelCosts(self.layers, self.fused, self.smaller)

    def with_costs(
        self, costs: KernelCosts, alone: KernelCosts | None = None, small: frozenset[int] = frozenset()
    ) -> "Problem":
        """Return the problem with these costs of its layers, and with those of a device that has all of them.

        The costs are of kernels that the problem has, so that they are not checked again; what follows from the order
        of the layers stays known.
        """
        alone = None if alone == costs else alone
        own = {"layers": costs.layers, "fused": costs.fused, "smaller": costs.smaller, "alone": alone, "small": small}
        kept = {name: self.__dict__[name] for name in (*_FIELDS, *_OF_ORDER) if name in self.__dict__}
        found = object.__new__(Problem)
        found.__dict__.update(kept | own)
        return found

    def of(self, assignment: Assignment) -> "Problem":
        """Return the problem with the costs of `assignment`: a device that has all layers may have other kernels."""
        return self._of_one_device if self.alone and len(set(assignment)) == 1 else self

    @cached_property
    def _of_one_device(self) -> "Problem":
        return self.with_costs(self.alone) if self.alone else self

    @property
    def n_candidates(self) -> int:
        """Number of assignments: devices to the power of layers."""
        return int(len(self.devices) ** len(self.layers))

    def cut(self, layer: int, sender: int, receiver: int) -> Cut:
        """Return the cut that carries the output of `layer` from `sender` to `receiver`."""
        seconds = self.transfer_seconds[layer][sender][receiver]
        return Cut(layer, sender, receiver, self.layers[layer].out_bytes, seconds)

    def hops(self, cut: Cut) -> tuple[Hop, ...]:
        """Return the route of `cut` hop by hop, without hops if its ends are not connected."""
        if self.links is None:
            return (Hop(cut.sender, cut.receiver, cut.seconds),)
        return self.links.routes[cut.after_layer][cut.sender][cut.receiver]

    def held_bytes(self, tensor: int) -> int:
        """Return the bytes of RAM that a layer's output (or NETWORK_INPUT) takes while a device keeps it."""
        return aligned(self.input_bytes if tensor == NETWORK_INPUT else self.layers[tensor].out_bytes)


_FIELDS = tuple(each.name for each in fields(Problem))
_OF_ORDER = ("predecessors", "readers", "is_chain")  # properties that follow from the inputs of layers


def last_two(n_layers: int) -> frozenset[int]:
    """Return what `joined` is if the last two of `n_layers` run on one device."""
    return frozenset(range(n_layers - 1)[-1:])


def within(value: float, limit: float) -> bool:
    """Return whether `value` is at most `limit`, up to rounding errors."""
    return value <= limit * (1 + ROUNDING)


def is_better(value: float, other: float) -> bool:
    """Return whether `value` is below `other` by more than rounding."""
    return value < other * (1 - ROUNDING)
