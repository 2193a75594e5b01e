"""The splitting problem of seed 000, section 2: what each layer costs on each device, and what an assignment costs."""

from dataclasses import dataclass


@dataclass(frozen=True)
class LayerCosts:
    """Costs of one layer; `seconds` has one entry a device."""

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
class Problem:
    """Layers in their order, devices, and the time that `n` bytes need on the link between two devices.

    An assignment is a tuple with the 0-based device of every layer.
    """

    layers: tuple[LayerCosts, ...]
    devices: tuple[DeviceLimits, ...]
    transfer_seconds: tuple[tuple[tuple[float, ...], ...], ...]  # [layer][from][to]: T of the cut behind a layer
