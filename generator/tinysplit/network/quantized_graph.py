"""The network in fixed point: the formats of every layer and the integers that its C kernel reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from typing_extensions import override

from tinysplit.network.fixed_point.arithmetic import TfliteRequantization
from tinysplit.network.fixed_point.formats import IntArray, ValueFormat
from tinysplit.network.fixed_point.integer_layer import IntegerLayer, IntegerParameters
from tinysplit.network.fixed_point.layer_formats import Bounds, LayerFormats
from tinysplit.network.graph import Graph
from tinysplit.network.layers.base import Activation, Layer


@dataclass(frozen=True, eq=False, kw_only=True)
class QuantizedLayer(IntegerLayer):
    """A layer with its formats and its integer weights and bias; None for a layer without weights."""

    layer: Layer
    parameters: IntegerParameters | None

    @classmethod
    def of(cls, layer: Layer, formats: LayerFormats, bounds: Sequence[Bounds] = ()) -> Self:
        """Return the layer in fixed point, its weights and bias rounded to the nearest integers."""
        parameters = layer.round_parameters(formats)
        return cls(layer=layer, formats=formats, bounds=tuple(bounds), parameters=parameters)

    @cached_property
    def dequantized(self) -> Layer:
        """The float layer that the integer weights and bias represent; the costs of some kernels depend on it."""
        if self.parameters is None:
            return self.layer
        scales = self.formats.weight_scales[:, np.newaxis]
        weights = self.layer.from_channels(self.layer.by_channel(self.parameters.weights) * scales)
        bias = self.parameters.bias * self.formats.sum_scales
        changed: dict[str, Any] = {"weights": weights.astype(np.float32), "bias": bias.astype(np.float32)}
        return replace(self.layer, **changed)

    def stored(self, layer: Layer) -> Layer:
        """Return this layer, or rows of it, with the sign of its first input as it is stored.

        A zero point shifts positive values below 0.
        """
        is_signed = self.x_bounds[0] < 0
        if is_signed == (layer.x_clamp.low < 0):
            return layer
        return replace(layer, x_clamp=Activation(-np.inf if is_signed else 0.0))

    @cached_property
    @override
    def constants(self) -> Mapping[str, IntArray]:
        if self.parameters is None:
            return self.layer.constants(self.formats)
        return self.layer.weight_constants(self.formats, self.parameters)

    @cached_property
    @override
    def clamp(self) -> Bounds:
        y, activation = self.formats.y, self.layer.activation
        low = y.low if np.isneginf(activation.low) else int(y.quantize(np.array(activation.low)))
        high = y.high if np.isposinf(activation.high) else int(y.quantize(np.array(activation.high)))
        return low, high

    @property
    def exchangeable(self) -> "QuantizedLayer":
        """The same layer, whose weights others may replace."""
        own = self.formats.requantization
        if not isinstance(own, TfliteRequantization):
            return self
        return replace(self, formats=replace(self.formats, requantization=replace(own, is_exchangeable=True)))


@dataclass(frozen=True, eq=False)
class QuantizedGraph:
    """A network in fixed point; no weights and values are wider than `bits` (8 or 16).

    `whole` is the network of all layers and channels that a distributed one, or one without the channels `removed`
    (numbers from 0 by value: network/removal), was made from.
    """

    graph: Graph
    bits: int
    layers: tuple[QuantizedLayer, ...]
    whole: "QuantizedGraph | None" = None
    removed: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def complete(self) -> "QuantizedGraph":
        """The network with all layers whole and all channels: that of the ONNX file."""
        return self.whole or self

    @property
    def exchangeable(self) -> "QuantizedGraph":
        """The same network, whose weights others may replace: code must not follow from them."""
        return replace(self, layers=tuple(layer.exchangeable for layer in self.layers))

    @cached_property
    def dequantized(self) -> Graph:
        """The float network that the integer weights and biases represent, from which costs on boards are estimated."""
        if self.graph.qdq_formats:  # the float weights of a QDQ network are integers times scales already
            return self.graph
        return replace(self.graph, layers=tuple(layer.dequantized for layer in self.layers))

    @cached_property
    def formats(self) -> Mapping[str, ValueFormat]:
        """Formats of all values, by name."""
        formats = {self.graph.input_name: self.layers[0].formats.x}
        return formats | {layer.layer.output: layer.formats.y for layer in self.layers}

    @property
    def input_formats(self) -> tuple[ValueFormat, ...]:
        """Formats of the network's inputs."""
        return tuple(self.complete.formats[end.name] for end in self.graph.inputs)

    @property
    def output_formats(self) -> tuple[ValueFormat, ...]:
        """Formats of the network's outputs."""
        return tuple(self.complete.formats[end.value] for end in self.graph.outputs)
