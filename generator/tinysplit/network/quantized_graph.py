"""The network in fixed point: the formats of every layer and the integers that its C kernel reads."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tinysplit.network.fixed_point.arithmetic import Requantization
from tinysplit.network.fixed_point.formats import IntArray, ValueFormat
from tinysplit.network.graph import Graph
from tinysplit.network.layers.base import Bounds, Layer


@dataclass(frozen=True)
class LayerFormats:
    """Formats of a layer: values in (`inputs`, one an input), values out (`y`), and how sums become outputs.

    Weights have `weight_bits` bits (None for a layer without weights) and no zero point. Their scale, seed 004's
    division factor a step, follows from the requantization, so that this is exact: the sum of an output channel counts
    in steps of y.scale * correction, and a weight in those steps over the input's.
    """

    inputs: tuple[ValueFormat, ...]
    y: ValueFormat
    weight_bits: int | None = None
    requantization: Requantization | None = None

    @property
    def x(self) -> ValueFormat:
        """Format of the first input."""
        return self.inputs[0]

    @property
    def sum_scales(self) -> NDArray[np.float64]:
        """Step of the sums, an output channel or for all; only for layers that requantize."""
        if self.requantization is None:
            raise ValueError("this layer has no sums to requantize")
        return self.y.scale * self.requantization.corrections

    @property
    def weight_scales(self) -> NDArray[np.float64]:
        """Step of the weights, an output channel or for all; only for layers with weights."""
        return self.sum_scales / self.x.scale


@dataclass(frozen=True, eq=False)
class QuantizedLayer:
    """A layer with its formats and the constants of its kernel.

    `bounds` are the integers between which each input provably lies; none are known where it is empty. `replaced` is
    the layer as it was trained, where `layer` has other weights and another bias.
    """

    layer: Layer
    formats: LayerFormats
    bounds: tuple[Bounds, ...] = ()
    replaced: Layer | None = None

    @property
    def trained(self) -> Layer:
        """The layer with the weights that it was trained to."""
        return self.replaced or self.layer

    @property
    def x_bounds(self) -> Bounds:
        """Smallest and largest integer of the first input."""
        return self.bounds[0] if self.bounds else (self.formats.x.low, self.formats.x.high)

    @cached_property
    def constants(self) -> Mapping[str, IntArray]:
        """Integer arrays that the kernel reads, by name."""
        return self.layer.constants(self.formats)

    @cached_property
    def clamp(self) -> tuple[int, int]:
        """Smallest and largest output integer: the range of `y`, narrowed by the fused activation."""
        y, activation = self.formats.y, self.layer.activation
        low = y.low if np.isneginf(activation.low) else int(y.quantize(np.array(activation.low)))
        high = y.high if np.isposinf(activation.high) else int(y.quantize(np.array(activation.high)))
        return low, high

    def requantize(self, sums: IntArray) -> IntArray:
        """Bring sums (... x channels) to the format of the output."""
        requantization = self.formats.requantization
        if requantization is None:
            raise ValueError(f"{self.layer.kind} has no requantization")
        return self.clamped(requantization.apply(sums, self.formats.y.zero_point))

    def clamped(self, values: IntArray) -> IntArray:
        """Saturate integers of the output's format and apply the fused activation."""
        low, high = self.clamp
        return values.clip(low, high).astype(self.formats.y.dtype)

    @property
    def weights_bytes(self) -> int:
        """Bytes of all constants."""
        return sum(array.nbytes for array in self.constants.values())


@dataclass(frozen=True, eq=False)
class QuantizedGraph:
    """A network in fixed point; no weights and values are wider than `bits` (8 or 16)."""

    graph: Graph
    bits: int
    layers: tuple[QuantizedLayer, ...]

    @property
    def input_format(self) -> ValueFormat:
        """Format of the network's input."""
        return self.layers[0].formats.x

    @property
    def output_format(self) -> ValueFormat:
        """Format of the network's output."""
        return self.layers[-1].formats.y
