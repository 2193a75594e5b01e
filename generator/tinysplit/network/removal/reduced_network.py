"""A network without some of its channels (`removable_channels`): what they have to say is in the biases that stay."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinysplit.network.fixed_point.integer_layer import IntegerParameters
from tinysplit.network.graph import Graph
from tinysplit.network.layers.base import Layer, Shape
from tinysplit.network.parts import can_be_sliced, reads_whole_input, slice_of, slice_of_formats, slice_of_parameters
from tinysplit.network.quantized_graph import QuantizedGraph, QuantizedLayer
from tinysplit.network.removal.channel_bounds import channel_bounds
from tinysplit.network.removal.cropped_maps import cropped
from tinysplit.network.removal.removable_channels import Channels

Kept = Mapping[str, tuple[int, ...]]  # channels by value, from 0


def reduced_graph(graph: Graph, removed: Channels) -> Graph:
    """Return a network without channels, and without pixels that nobody reads.

    Biases stay as they are, which serves for estimates. Raises ValueError for channels that layers which stay need.
    """
    kept = _kept(graph, removed)
    return cropped(_of_layers(graph, [_reduced(graph, layer, kept) for layer in graph.layers], kept))


def reduced_network(quantized: QuantizedGraph, removed: Channels) -> QuantizedGraph:
    """Return a network without channels that it can lack, and without pixels that nobody reads.

    Its outputs are the same integers for every input. Raises ValueError for channels without which it needs others.
    """
    graph, kept = quantized.graph, _kept(quantized.graph, removed)
    bounds = channel_bounds(quantized) if removed else {}
    layers = []
    for each in quantized.layers:
        name = each.layer.inputs[0]
        constants = {channel: int(bounds[name].low[channel]) for channel in removed.get(name, ())}
        layers.append(_reduced_layer(graph, each, kept, constants))
    reduced = cropped(_of_layers(graph, [each.layer for each in layers], kept))
    if reduced.layers == graph.layers:
        return quantized
    own = (
        each if each.layer is layer else replace(each, layer=layer)
        for each, layer in zip(layers, reduced.layers, strict=True)
    )
    return replace(quantized, graph=reduced, layers=tuple(own), whole=quantized, removed=removed)


def _of_layers(graph: Graph, layers: Sequence[Layer], kept: Kept) -> Graph:
    """Return the network of layers that read the channels that are kept, and compute them."""
    reduced = replace(graph, layers=tuple(layers))
    for number, layer in enumerate(layers):
        sizes = [reduced.size(source) for source in reduced.predecessors[number]]
        if [shape.size for shape in layer.in_shapes] != sizes or layer.out_shape.channels != len(kept[layer.output]):
            raise ValueError(f"layer {layer.name!r} needs channels that were removed")
    return reduced


def removal_line(graph: Graph, reduced: Graph, removed: Channels) -> str:
    """Return what a network became without channels and pixels."""
    channels = sum(graph.shape_of(name).channels for name in graph.value_names)
    what = f"{sum(map(len, removed.values()))} of {channels} channels, which no input changes or no layer reads"
    pixels = "rows and columns that no layer reads"
    is_cropped = any(a.out_shape[:2] != b.out_shape[:2] for a, b in zip(graph.layers, reduced.layers, strict=True))
    left_out = [what] * bool(removed) + [pixels] * is_cropped
    return f"removed {' and '.join(left_out)}: {graph.macc / 1e6:.2f} M MACs become {reduced.macc / 1e6:.2f} M"


def _kept(graph: Graph, removed: Channels) -> Kept:
    channels = {name: range(graph.shape_of(name).channels) for name in graph.value_names}
    return {name: tuple(c for c in every if c not in removed.get(name, ())) for name, every in channels.items()}


def _reduced(graph: Graph, layer: Layer, kept: Kept) -> Layer:
    """Return a float layer from the channels of its inputs that are kept to those of its output."""
    inputs, output = [kept[name] for name in layer.inputs], kept[layer.output]
    shapes = [
        _without(shape, graph.shape_of(name), kept[name])
        for shape, name in zip(layer.in_shapes, layer.inputs, strict=True)
    ]
    if can_be_sliced(layer) and len(output) < layer.out_shape.channels:
        layer = slice_of(layer, output)
    changed: dict[str, Any] = {}
    if reads_whole_input(layer) and _lacks(graph, layer, kept):
        changed["weights"] = _of_inputs(graph, layer, layer.parameters["weights"], inputs[0])
    return layer if [*layer.in_shapes] == shapes else replace(layer.with_in_shapes(shapes), **changed)


def _reduced_layer(graph: Graph, quantized: QuantizedLayer, kept: Kept, constants: Mapping[int, int]) -> QuantizedLayer:
    """Return a quantized layer, in whose bias are the products of input channels that have the value `constants`."""
    whole, layer, parameters = quantized.layer, _reduced(graph, quantized.layer, kept), quantized.parameters
    if layer is whole:
        return quantized
    output = kept[whole.output]
    formats = slice_of_formats(quantized.formats, output)
    if parameters is not None:
        if constants and reads_whole_input(whole):
            parameters = _with_constants(graph, quantized, parameters, constants)
        parameters = slice_of_parameters(whole, parameters, output)
        if reads_whole_input(whole):
            weights = _of_inputs(graph, whole, parameters.weights, kept[whole.inputs[0]])
            parameters = replace(parameters, weights=weights)
        bias = (parameters.bias * formats.sum_scales).astype(np.float32)
        changed: dict[str, Any] = {"bias": bias}
        layer = replace(layer, **changed)
    return replace(quantized, layer=layer, formats=formats, parameters=parameters)


def _with_constants(
    graph: Graph, quantized: QuantizedLayer, parameters: IntegerParameters, constants: Mapping[int, int]
) -> IntegerParameters:
    """Return weights and the bias with the products of all weights of some input channels and a value of each."""
    layer = quantized.layer
    channels = graph.shape_of(layer.inputs[0]).channels
    weights = layer.by_channel(parameters.weights.astype(np.int64))
    sums = weights.reshape(len(weights), -1, channels).sum(axis=1)
    zero_point = quantized.formats.x.zero_point
    products = sum(sums[:, channel] * (value - zero_point) for channel, value in constants.items())
    return replace(parameters, bias=(parameters.bias + products).astype(np.int32))


def _of_inputs(graph: Graph, layer: Layer, weights: NDArray[Any], kept: Sequence[int]) -> NDArray[Any]:
    """Return weights (outputs x ... x inputs) of some input channels."""
    channels = graph.shape_of(layer.inputs[0]).channels
    by_channel = weights.reshape(*weights.shape[:-1], -1, channels)[..., list(kept)]
    return np.ascontiguousarray(by_channel.reshape(*weights.shape[:-1], -1))


def _lacks(graph: Graph, layer: Layer, kept: Kept) -> bool:
    return any(len(kept[name]) < graph.shape_of(name).channels for name in layer.inputs)


def _without(shape: Shape, source: Shape, kept: Sequence[int]) -> Shape:
    """Return the shape in which a layer reads a value of shape `source` of which some channels are left."""
    pixels = shape.channels // source.channels  # whose channels lie side by side in a channel of the shape
    return shape if len(kept) == source.channels else shape._replace(channels=pixels * len(kept))
