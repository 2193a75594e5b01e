"""The integer reference: the arithmetic of the boards in NumPy, bit-exact."""

from collections.abc import Iterator

import numpy as np

from tinysplit.network.fixed_point.formats import FloatArray, IntArray
from tinysplit.network.graph import NETWORK_INPUT
from tinysplit.network.quantized_graph import QuantizedGraph

CHUNK = 32  # samples at a time: bounds the memory of the windows that a convolution gathers


def quantize_input(quantized: QuantizedGraph, x: FloatArray) -> IntArray:
    """Return samples (N x sample_shape) as the integers that the first board receives (N x H x W x C)."""
    graph = quantized.graph
    ordered = x.reshape(len(x), -1)[:, graph.input_order]
    return quantized.input_format.quantize(ordered).reshape(len(x), *graph.in_shape)


def run_layers(quantized: QuantizedGraph, x: IntArray) -> Iterator[IntArray]:
    """Yield every layer's output (N x H x W x C) for integers `x` (N x H x W x C).

    A layer may read a tensor in another shape of the same size: a vector as a map, or a map as a vector.
    """
    graph = quantized.graph
    values = {NETWORK_INPUT: x}  # by layer: outputs that are still to be read
    for index, layer in enumerate(quantized.layers):
        inputs = (
            values[source].reshape(len(x), *shape)
            for source, shape in zip(graph.predecessors[index], layer.layer.in_shapes, strict=True)
        )
        values[index] = layer.layer.integer_reference(layer, *inputs)
        yield values[index]
        values = {source: value for source, value in values.items() if graph.last_reader(source) > index}


def run_integer(quantized: QuantizedGraph, x: FloatArray) -> IntArray:
    """Return the network's output (N x output_shape), in ONNX's order, for samples (N x sample_shape)."""
    graph = quantized.graph
    outputs = np.empty((len(x), graph.out_shape.size), quantized.output_format.dtype)
    for start in range(0, len(x), CHUNK):
        *_, last = run_layers(quantized, quantize_input(quantized, x[start : start + CHUNK]))
        outputs[start : start + CHUNK] = last.reshape(len(last), -1)
    return outputs[:, graph.output_order].reshape(len(x), *graph.output_shape)
