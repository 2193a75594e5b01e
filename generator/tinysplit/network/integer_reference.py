"""The integer reference: the arithmetic of the boards in NumPy, bit-exact."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tinysplit.network.ends import by_name
from tinysplit.network.fixed_point.formats import FloatArray, IntArray
from tinysplit.network.graph import NETWORK_INPUT
from tinysplit.network.layers.recurrent import Recurrent, States
from tinysplit.network.quantized_graph import QuantizedGraph, QuantizedLayer

CHUNK = 32  # samples at a time: bounds the memory of the windows that a convolution gathers


def quantize_input(quantized: QuantizedGraph, x: FloatArray) -> IntArray:
    """Return samples (N x sample_shape) as the integers that the first board receives (N x H x W x C)."""
    graph = quantized.graph
    pieces = zip(quantized.input_formats, by_name(graph.inputs, x).values(), strict=True)
    integers = np.concatenate([formats.quantize(piece.reshape(len(x), -1)) for formats, piece in pieces], axis=1)
    return integers[:, graph.input_order].reshape(len(x), *graph.in_shape)


def real_outputs(quantized: QuantizedGraph, integers: IntArray) -> NDArray[np.float64]:
    """Return what integer results (N x elements, in ONNX's order) stand for (N x elements)."""
    pieces = zip(quantized.output_formats, by_name(quantized.graph.outputs, integers).values(), strict=True)
    return np.concatenate([formats.dequantize(piece.reshape(len(piece), -1)) for formats, piece in pieces], axis=1)


class LayerStates:
    """The states of layers that keep them, from one chunk of samples to the next."""

    def __init__(self) -> None:
        self._states: dict[int, States] = {}

    def run(self, number: int, layer: QuantizedLayer, inputs: Sequence[IntArray]) -> IntArray:
        """Return the output of the layer with this number."""
        if not isinstance(layer.layer, Recurrent) or not layer.layer.keeps_state:
            return layer.layer.integer_reference(layer, *inputs)
        output, self._states[number] = layer.layer.continued(layer, inputs, self._states.get(number))
        return output


def run_layers(quantized: QuantizedGraph, x: IntArray, states: LayerStates | None = None) -> Iterator[IntArray]:
    """Yield every layer's output (N x H x W x C) for integers `x` (N x H x W x C), the first ones without `states`.

    A layer may read a tensor in another shape of the same size: a vector as a map, or a map as a vector.
    """
    graph, states = quantized.graph, states or LayerStates()
    values = {NETWORK_INPUT: x}  # by layer: outputs that are still to be read
    for index, layer in enumerate(quantized.layers):
        inputs = [
            values[source].reshape(len(x), *shape)
            for source, shape in zip(graph.predecessors[index], layer.layer.in_shapes, strict=True)
        ]
        values[index] = states.run(index, layer, inputs)
        yield values[index]
        values = {source: value for source, value in values.items() if graph.last_reader(source) > index}


def run_integer(quantized: QuantizedGraph, x: FloatArray) -> IntArray:
    """Return the network's results (N x output_shape), in ONNX's order, for samples (N x sample_shape)."""
    graph = quantized.graph
    outputs = np.empty((len(x), graph.out_shape.size), quantized.output_formats[0].dtype)
    states = LayerStates()
    for start in range(0, len(x), CHUNK):
        *_, last = run_layers(quantized, quantize_input(quantized, x[start : start + CHUNK]), states)
        outputs[start : start + CHUNK] = last.reshape(len(last), -1)
    return outputs[:, graph.output_order].reshape(len(x), *graph.output_shape)
