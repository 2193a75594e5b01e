"""Between which integers each channel of every value stays, whatever the network's input is.

Interval arithmetic on the integers that the kernels compute. Sums of products are largest where each input is at the
end of its interval that the sign of its weight asks for; requantization, clamps and pools never decrease; padding
counts as a value of the input. Layers of other kinds give all integers of their clamp.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.layers.add import Add
from tinysplit.network.layers.base import Layer, Shape
from tinysplit.network.layers.concat import Concat
from tinysplit.network.layers.conv import Conv
from tinysplit.network.layers.dense import Dense
from tinysplit.network.layers.depthwise_conv import DepthwiseConv
from tinysplit.network.layers.lookup import Lookup
from tinysplit.network.layers.mul import Mul
from tinysplit.network.layers.pad import Pad
from tinysplit.network.layers.permute import Permute
from tinysplit.network.layers.pool import Pool
from tinysplit.network.layers.upsample import Upsample
from tinysplit.network.quantized_graph import QuantizedGraph, QuantizedLayer


class ChannelBounds(NamedTuple):
    """Smallest and largest integer of each channel (both: channels)."""

    low: IntArray
    high: IntArray

    @classmethod
    def of_all(cls, channels: int, low: int, high: int) -> Self:
        """Return bounds that all channels share."""
        return cls(np.full(channels, low, np.int64), np.full(channels, high, np.int64))

    @classmethod
    def hull(cls, values: IntArray) -> Self:
        """Return the bounds of values (... x channels)."""
        rows = values.reshape(-1, values.shape[-1]).astype(np.int64)
        return cls(rows.min(axis=0), rows.max(axis=0))

    @property
    def are_constant(self) -> NDArray[np.bool_]:
        """Which channels have one value."""
        constant: NDArray[np.bool_] = self.low == self.high
        return constant

    def with_value(self, value: int) -> "ChannelBounds":
        """Return bounds between which a value stays, too."""
        return ChannelBounds(np.minimum(self.low, value), np.maximum(self.high, value))

    def maps(self, shape: Shape) -> tuple[IntArray, IntArray]:
        """Return two maps (1 x H x W x C) of all smallest and all largest values."""
        low, high = (np.broadcast_to(values, (1, *shape)) for values in self)
        return low, high

    def reshaped(self, shape: Shape, other: Shape) -> "ChannelBounds":
        """Return the bounds of the channels where a value of a shape is read in another one of as many elements."""
        if shape.channels == other.channels:
            return self
        return ChannelBounds.hull(np.concatenate([values.reshape(1, *other) for values in self.maps(shape)]))


def channel_bounds(quantized: QuantizedGraph) -> Mapping[str, ChannelBounds]:
    """Return the bounds of the network's input and of every layer's output, by name."""
    graph, x = quantized.graph, quantized.layers[0].formats.x
    bounds = {graph.input_name: ChannelBounds.of_all(graph.in_shape.channels, x.low, x.high)}
    shapes = {graph.input_name: graph.in_shape}
    for each in quantized.layers:
        layer = each.layer
        inputs = [
            bounds[name].reshaped(shapes[name], shape)
            for name, shape in zip(layer.inputs, layer.in_shapes, strict=True)
        ]
        bounds[layer.output], shapes[layer.output] = _output(each, inputs), layer.out_shape
    return bounds


def _output(quantized: QuantizedLayer, inputs: Sequence[ChannelBounds]) -> ChannelBounds:
    layer = quantized.layer
    if isinstance(layer, Conv | DepthwiseConv | Dense):
        return _of_sums(quantized, layer, inputs[0])
    if isinstance(layer, Lookup):
        return _of_table(quantized, layer, inputs[0])
    if isinstance(layer, Mul):
        corners = product(*_maps(layer, inputs))
        return ChannelBounds.hull(np.concatenate([layer.integer_reference(quantized, *corner) for corner in corners]))
    if isinstance(layer, Add | Concat | Pad | Permute | Pool | Upsample):
        return _of_monotone(quantized, layer, inputs)
    return ChannelBounds.of_all(layer.out_shape.channels, *quantized.clamp)


def _of_sums(quantized: QuantizedLayer, layer: Conv | DepthwiseConv | Dense, x: ChannelBounds) -> ChannelBounds:
    if layer.has_padding:
        x = x.with_value(quantized.formats.x.zero_point)
    constants = quantized.constants
    weights = layer.by_channel(constants["weights"].astype(np.int64))
    positive, negative = np.maximum(weights, 0), np.minimum(weights, 0)

    def smallest(low: IntArray, high: IntArray) -> IntArray:
        sums: IntArray = (positive * _read(layer, low) + negative * _read(layer, high)).sum(axis=1)
        return sums + constants["bias"]

    return ChannelBounds.hull(quantized.requantize(np.stack([smallest(x.low, x.high), smallest(x.high, x.low)])))


def _read(layer: Layer, values: IntArray) -> IntArray:
    """Return the value of a channel for each weight of `by_channel`: output channels, or 1, x weights of a channel."""
    if isinstance(layer, DepthwiseConv):
        return values[:, np.newaxis]
    if isinstance(layer, Conv):
        groups = np.tile(values.reshape(layer.groups, -1), layer.window.elements)
        return groups.repeat(layer.out_shape.channels // layer.groups, axis=0)
    return np.tile(values, layer.in_shape.height * layer.in_shape.width)[np.newaxis]


def _of_table(quantized: QuantizedLayer, layer: Lookup, x: ChannelBounds) -> ChannelBounds:
    """Return the bounds of a function, which may rise and fall."""
    first = int(x.low.min())
    values = layer.integer_reference(quantized, np.arange(first, int(x.high.max()) + 1)).astype(np.int64)
    spans = [values[low - first : high - first + 1] for low, high in zip(*x, strict=True)]
    return ChannelBounds(np.array([span.min() for span in spans]), np.array([span.max() for span in spans]))


def _of_monotone(quantized: QuantizedLayer, layer: Layer, inputs: Sequence[ChannelBounds]) -> ChannelBounds:
    """Return the bounds of a layer that is largest where all its inputs are, those that it subtracts where smallest."""
    signs = layer.signs if isinstance(layer, Add) else (1,) * len(inputs)
    ends = [maps[::sign] for maps, sign in zip(_maps(layer, inputs), signs, strict=True)]
    low, high = (layer.integer_reference(quantized, *maps) for maps in zip(*ends, strict=True))
    return ChannelBounds.hull(np.concatenate([low, high]))


def _maps(layer: Layer, inputs: Sequence[ChannelBounds]) -> list[tuple[IntArray, IntArray]]:
    return [bounds.maps(shape) for bounds, shape in zip(inputs, layer.in_shapes, strict=True)]
