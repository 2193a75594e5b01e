"""A distributed network in fixed point: its parts have the formats, weights and biases of the whole layers.

Every output is the integer that the whole network computes.
"""

from dataclasses import replace

from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.distribution import Part, SliceAxis
from tinysplit.network.fixed_point.formats import ValueFormat
from tinysplit.network.fixed_point.layer_formats import LayerFormats
from tinysplit.network.graph import NETWORK_INPUT, Graph
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.concat import Concat
from tinysplit.network.layers.distributed.partial_sum import SUM_BITS, AverageOfSums, PartialSum
from tinysplit.network.parts import slice_of_formats, slice_of_parameters
from tinysplit.network.quantized_graph import QuantizedGraph, QuantizedLayer


def distribute_quantized(quantized: QuantizedGraph, distributed: Graph) -> QuantizedGraph:
    """Return the nodes of a distributed network in the formats of the `quantized` whole network."""
    formats: dict[str, ValueFormat] = {quantized.graph.input_name: quantized.formats[quantized.graph.input_name]}
    layers = []
    for node, part in zip(distributed.layers, distributed.parts, strict=True):
        layer = _quantized(quantized, node, part, tuple(formats[name] for name in node.inputs))
        formats[node.output] = layer.formats.y
        layers.append(layer)
    return replace(quantized, graph=distributed, layers=tuple(layers), whole=quantized.complete)


def distributed_widths(whole: Graph, distributed: Graph, widths: BitWidths) -> BitWidths:
    """Return the bit widths of the values and weights of a distributed network, given those of the whole one."""
    values = {whole.input_name: widths.values[whole.input_name]}
    weights = {}
    for node, part in zip(distributed.layers, distributed.parts, strict=True):
        name = whole.value_names[part.tensor + 1]
        values[node.output] = SUM_BITS if isinstance(node, PartialSum) else widths.values[name]
        if "weights" in node.parameters:
            weights[node.output] = widths.weights[name]
    return BitWidths(values, weights)


def _quantized(quantized: QuantizedGraph, node: Layer, part: Part, inputs: tuple[ValueFormat, ...]) -> QuantizedLayer:
    if isinstance(node, PartialSum):
        return QuantizedLayer(layer=node, formats=LayerFormats(inputs, node.sums_format(inputs[0])), parameters=None)
    if node.is_view or part.tensor == NETWORK_INPUT or _is_gathering(quantized, node, part):
        return QuantizedLayer(layer=node, formats=LayerFormats(inputs, inputs[0]), parameters=None)
    whole = quantized.layers[part.tensor]
    formats = replace(whole.formats, inputs=inputs)
    parameters = whole.parameters
    bounds = () if isinstance(node, AverageOfSums) else whole.bounds
    if part.axis is SliceAxis.CHANNELS:
        formats = slice_of_formats(formats, part.range)
        parameters = parameters and slice_of_parameters(whole.layer, parameters, part.range)
    return QuantizedLayer(layer=node, formats=formats, bounds=bounds, parameters=parameters)


def _is_gathering(quantized: QuantizedGraph, node: Layer, part: Part) -> bool:
    """Return whether a concatenation brings slices of a tensor together, in place of being a layer of the network."""
    return isinstance(node, Concat) and node.name != quantized.graph.layers[part.tensor].name
