"""Which channels a quantized network can lack, so that its output stays the same integer for every input.

A channel can go where no layer that stays reads it: its weights are 0 there, or it has one value for every input
(`channel_bounds`), whose products become part of the reader's bias. Windows that reach over the border read the zero
point of their input, so there a channel has to have that value. Layers that compute channel by channel, as depthwise
convolutions and sums, have the channels of their inputs.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tinysplit.network.graph import Graph
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.concat import Concat
from tinysplit.network.layers.dense import Dense
from tinysplit.network.layers.depthwise_conv import DepthwiseConv
from tinysplit.network.layers.joining import Elementwise
from tinysplit.network.layers.lookup import Lookup
from tinysplit.network.layers.pad import Pad
from tinysplit.network.layers.pool import Pool
from tinysplit.network.layers.upsample import Upsample
from tinysplit.network.parts import reads_whole_input
from tinysplit.network.quantized_graph import QuantizedGraph, QuantizedLayer
from tinysplit.network.removal.channel_bounds import ChannelBounds, channel_bounds

Channels = Mapping[str, tuple[int, ...]]  # of values, by name, counted from 0

_CHANNELWISE = (Concat, DepthwiseConv, Elementwise, Lookup, Pool, Upsample)

KEPT_MULTIPLE = 4  # kernels compute as many channels side by side: a last one alone takes longer than what it saves

_Flags = NDArray[np.bool_]


def removable_channels(quantized: QuantizedGraph, multiple: int = KEPT_MULTIPLE) -> Channels:
    """Return the channels of each value that can go, none of the network's input and output.

    The number of channels that stay of a value is divisible by `multiple`, or that of all.
    """
    graph, bounds = quantized.graph, channel_bounds(quantized)
    needed = {name: np.zeros(graph.shape_of(name).channels, bool) for name in graph.value_names}
    needed[graph.input_name][:] = needed[graph.layers[-1].output][:] = True
    count, count_before = _count(needed), 0
    while count > count_before:  # layers that share channels need those of each other
        for layer in reversed(quantized.layers):
            _fill(needed[layer.layer.output], multiple)
            _demand(graph, layer, needed, bounds)
        count, count_before = _count(needed), count
    removed = {name: tuple(np.flatnonzero(~flags).tolist()) for name, flags in needed.items()}
    return {name: channels for name, channels in removed.items() if channels}


def has_channels_of_inputs(layer: Layer) -> bool:
    """Return whether a layer computes channel by channel: what its inputs lack, its output lacks."""
    if isinstance(layer, Pad):
        return not any(layer.channels)
    return isinstance(layer, _CHANNELWISE) and not layer.keeps_integers


def _count(needed: Mapping[str, _Flags]) -> int:
    return sum(int(flags.sum()) for flags in needed.values())


def _fill(flags: _Flags, multiple: int) -> None:
    """Mark more channels until their number is at least one, and divisible by `multiple`, or all are marked."""
    count = int(flags.sum())
    missing = -count % multiple if count else multiple
    flags[np.flatnonzero(~flags)[:missing]] = True


def _demand(
    graph: Graph, quantized: QuantizedLayer, needed: Mapping[str, _Flags], bounds: Mapping[str, ChannelBounds]
) -> None:
    """Mark the channels that a layer reads for those that it is to compute."""
    layer = quantized.layer
    output, inputs = needed[layer.output], [needed[name] for name in layer.inputs]
    shapes = [graph.shape_of(name) for name in layer.inputs]
    if has_channels_of_inputs(layer) and [*layer.in_shapes] == shapes:
        for place, flags in _places(layer, inputs):
            output[place] |= flags
            flags[:] = output[place]
    elif reads_whole_input(layer) and (layer.in_shape == shapes[0] or isinstance(layer, Dense)):
        inputs[0] |= _read(quantized, output, shapes[0].channels, bounds[layer.inputs[0]])
    else:
        for flags in (output, *inputs):
            flags[:] = True


def _places(layer: Layer, inputs: Sequence[_Flags]) -> Iterator[tuple[slice, _Flags]]:
    """Yield where the channels of each input are among those of the output."""
    start = 0
    for flags in inputs:
        yield slice(start, start + flags.size), flags
        if isinstance(layer, Concat):
            start += flags.size


def _read(quantized: QuantizedLayer, output: _Flags, channels: int, x: ChannelBounds) -> _Flags:
    """Return which channels of its input a convolution or a dense layer has to have for channels of its output."""
    layer = quantized.layer
    weights = layer.by_channel(quantized.constants["weights"])[output]
    read = weights.any(axis=0).reshape(-1, channels).any(axis=0)
    varying = ~x.are_constant
    if layer.has_padding:
        varying |= x.low != quantized.formats.x.zero_point
    needed: _Flags = read & varying
    return needed
