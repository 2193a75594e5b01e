"""The network in fixed point: the formats of every layer and the integers that its C kernel reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from tinysplit.network.fixed_point.formats import IntArray, ValueFormat
from tinysplit.network.fixed_point.integer_layer import IntegerLayer
from tinysplit.network.fixed_point.layer_formats import Bounds, LayerFormats
from tinysplit.network.graph import Graph
from tinysplit.network.layers.base import Layer


@dataclass(frozen=True, eq=False, kw_only=True)
class QuantizedLayer(IntegerLayer):
    """A layer with its formats and the constants of its kernel.

    `replaced` is the layer as it was trained, where `layer` has other weights and another bias.
    """

    layer: Layer
    replaced: Layer | None = None

    @classmethod
    def of(cls, layer: Layer, formats: LayerFormats, bounds: Sequence[Bounds] = ()) -> Self:
        """Return the layer in fixed point, its weights and bias rounded to the nearest integers."""
        return cls(layer=layer, formats=formats, bounds=tuple(bounds))

    @property
    def trained(self) -> Layer:
        """The layer with the weights that it was trained to."""
        return self.replaced or self.layer

    @cached_property
    def constants(self) -> Mapping[str, IntArray]:
        """Integer arrays that the kernel reads, by name."""
        return self.layer.constants(self.formats)

    @cached_property
    def clamp(self) -> Bounds:
        """Smallest and largest output integer: the range of `y`, narrowed by the fused activation."""
        y, activation = self.formats.y, self.layer.activation
        low = y.low if np.isneginf(activation.low) else int(y.quantize(np.array(activation.low)))
        high = y.high if np.isposinf(activation.high) else int(y.quantize(np.array(activation.high)))
        return low, high


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
