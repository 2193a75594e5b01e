"""Layers whose channels are divided over devices: models of each part, and what a division costs.

It knows no boards and no units: latency, energy and resources of a part are posynomials of its channels, all in the
unit of the caller, for example ms.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from tinysplit.common.errors import UsageError
from tinysplit.papers.solvers.geometric.posynomial import ZERO, Floats, Posynomial
from tinysplit.split.problem import Objective

CHANNELS = "channels"  # the variable of every model
Division = tuple[tuple[float, ...], ...]  # channels by layer and device


@dataclass(frozen=True)
class DivisionDevice:
    """A device and its capacities, for example {"flash": 131072.0}; each layer's part uses up some of them."""

    name: str
    limits: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class DivisionCosts:
    """Costs of a part with its channels: computing it, bringing it its inputs, taking its outputs back."""

    compute: Posynomial
    inputs: Posynomial = ZERO
    outputs: Posynomial = ZERO


@dataclass(frozen=True)
class PartModel:
    """Models of a layer's part on one device; `resources` by the names of the device's limits."""

    latency: DivisionCosts
    energy: DivisionCosts | None = None
    resources: Mapping[str, Posynomial] = field(default_factory=dict)


@dataclass(frozen=True)
class DividedLayer:
    """A layer and, for each device, the models of its part, which has at least `min_channels`; 0 for no bound."""

    name: str
    channels: int
    parts: tuple[PartModel, ...]
    min_channels: float = 0.0


@dataclass(frozen=True)
class DivisionProblem:
    """Layers, computed one after the other, each divided over all devices, for least latency or energy.

    `side_by_side`: the parts of a layer are computed at the same time, so that the slowest counts, not their sum.
    Energies are always summed. `counts_outputs`: outputs travel back (missing in formula 7). `same_shares`: pairs of
    layers of which each device has the same share.
    """

    devices: tuple[DivisionDevice, ...]
    layers: tuple[DividedLayer, ...]
    objective: Objective = Objective.LATENCY
    side_by_side: bool = False
    counts_outputs: bool = False
    same_shares: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        if self.objective is Objective.THROUGHPUT:
            raise UsageError("divisions of layers minimise latency or energy, not the period")
        for layer in self.layers:
            if len(layer.parts) != len(self.devices):
                raise UsageError(f"layer {layer.name} has {len(layer.parts)} models for {len(self.devices)} devices")

    @property
    def takes_slowest(self) -> bool:
        """Whether a layer costs what its most expensive part does, not the sum of its parts."""
        return self.side_by_side and self.objective is Objective.LATENCY

    def costs(self, layer: int, device: int) -> DivisionCosts:
        """Return the costs in the unit of the objective. Raises UsageError if a device has no model of it."""
        part = self.layers[layer].parts[device]
        costs = part.latency if self.objective is Objective.LATENCY else part.energy
        if costs is None:
            raise UsageError(
                f"device {self.devices[device].name} has no model of the energy of {self.layers[layer].name}"
            )
        return costs

    def transfers(self, layer: int, device: int) -> Posynomial:
        """Return the cost of all that travels for a part."""
        costs = self.costs(layer, device)
        return costs.inputs + costs.outputs if self.counts_outputs else costs.inputs

    def part_cost(self, layer: int, device: int, channels: ArrayLike) -> Floats:
        """Return the costs of a part for each number of channels; no channels cost nothing."""
        counts = np.asarray(channels, np.float64)
        model = self.costs(layer, device).compute + self.transfers(layer, device)
        return np.where(counts > 0, model.of({CHANNELS: np.where(counts > 0, counts, 1)}), 0.0)

    def layer_cost(self, layer: int, channels: Sequence[float]) -> float:
        """Return what one layer costs when it is divided into `channels` (one number a device)."""
        costs = [float(self.part_cost(layer, device, count)) for device, count in enumerate(channels)]
        return max(costs) if self.takes_slowest else sum(costs)

    def cost(self, division: Sequence[Sequence[float]]) -> float:
        """Return what all layers cost."""
        return sum(self.layer_cost(layer, channels) for layer, channels in enumerate(division))

    def used(self, device: int, resource: str, division: Sequence[Sequence[float]]) -> float:
        """Return how much of a resource the parts of all layers use; no channels use nothing."""
        models = (layer.parts[device].resources.get(resource, ZERO) for layer in self.layers)
        counts = (channels[device] for channels in division)
        return sum(float(model.of({CHANNELS: n})) for model, n in zip(models, counts, strict=True) if n > 0)

    def is_within_limits(self, division: Sequence[Sequence[float]]) -> bool:
        """Return whether all devices have the resources that a division uses."""
        return all(
            self.used(number, resource, division) <= limit
            for number, device in enumerate(self.devices)
            for resource, limit in device.limits.items()
        )
