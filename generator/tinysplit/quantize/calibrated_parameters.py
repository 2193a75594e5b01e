"""Calibrated weight rounding and bias correction for a whole network; they cost nothing at run time.

The network runs layer by layer in its own integers, beside the same network in 16 bits. In each layer, weights are
rounded so that their errors cancel on the inputs (`rounding`), and the bias removes the mean error
(`bias_correction`). In a network of 16 bits this is done where 32-bit accumulators leave the weights of a layer no more
than 8 bits.
"""

from dataclasses import replace

import numpy as np

from tinysplit.network.fixed_point.arithmetic import ACCUMULATOR_MAX
from tinysplit.network.fixed_point.formats import FloatArray, IntArray, ValueFormat
from tinysplit.network.fixed_point.integer_layer import IntegerParameters
from tinysplit.network.graph import NETWORK_INPUT
from tinysplit.network.integer_reference import CHUNK, LayerStates, quantize_input
from tinysplit.network.quantized_graph import QuantizedGraph, QuantizedLayer
from tinysplit.quantize.bias_correction import mean_error
from tinysplit.quantize.choose_formats import few_weight_bits
from tinysplit.quantize.input_moments import InputMoments, WindowLayer, input_means
from tinysplit.quantize.rounding import WEIGHT_BITS, round_weights
from tinysplit.quantize.weight_scales import largest_sum

MOST_SAMPLES = 128
MOST_COVARIANCES = 4608  # weights of a channel: the covariances take 170 MB; of more weights, the nearest integers stay


def calibrate_parameters(quantized: QuantizedGraph, reference: QuantizedGraph | None, x: FloatArray) -> QuantizedGraph:
    """Return `quantized` with calibrated weights and biases for samples `x` (N x sample_shape). Formats stay.

    `reference` is the same network in more bits. Without one, the network is its own reference: what a layer reads
    counts as exact, and only layers whose 16-bit weights are left 8 bits or fewer change. A network that came quantized
    stays as it is, and so do weights that came as integers.
    """
    graph = quantized.graph
    if graph.qdq_formats or (reference is None and not any(map(few_weight_bits, quantized.layers))):
        return quantized
    integers = LayerRun(quantized, x)
    exact = integers if reference is None else LayerRun(reference, x)
    layers = []
    for index, layer in enumerate(quantized.layers):
        model = layer if reference is None else reference.layers[index]
        better = layer
        if reference is not None or few_weight_bits(layer):
            better = calibrated_layer(layer, integers.inputs(index)[0], exact.inputs(index)[0], model.formats.x)
        layers.append(better)
        integers.step(index, better)
        if exact is not integers:
            exact.step(index, model)
    return replace(quantized, layers=tuple(layers))


class LayerRun:
    """Execution layer by layer, for the first samples: the tensors that later layers read."""

    def __init__(self, quantized: QuantizedGraph, x: FloatArray) -> None:
        self.graph = quantized.graph
        self.values = {NETWORK_INPUT: quantize_input(quantized, x[:MOST_SAMPLES])}

    def inputs(self, index: int) -> list[IntArray]:
        """Return the integer inputs of layer `index` (N x H x W x C each)."""
        shapes = self.graph.layers[index].in_shapes
        read = (self.values[source] for source in self.graph.predecessors[index])
        return [value.reshape(len(value), *shape) for value, shape in zip(read, shapes, strict=True)]

    def step(self, index: int, layer: QuantizedLayer) -> None:
        """Compute a layer, and delete tensors that no later layer reads."""
        inputs = self.inputs(index)
        states = LayerStates()
        parts = (
            states.run(index, layer, [value[start : start + CHUNK] for value in inputs])
            for start in range(0, len(inputs[0]), CHUNK)
        )
        self.values[index] = np.concatenate(list(parts))
        self.values = {source: v for source, v in self.values.items() if self.graph.last_reader(source) > index}


def calibrated_layer(
    quantized: QuantizedLayer, inputs: IntArray, exact_inputs: IntArray, exact_format: ValueFormat
) -> QuantizedLayer:
    """Return a layer with calibrated weights and bias for its inputs `inputs`, which should be `exact_inputs`.

    It stays as it is where it has no windows, and where its accumulators would not fit 32 bits any more.
    """
    layer, formats = quantized.layer, quantized.formats
    if quantized.parameters is None or not isinstance(layer, WindowLayer):
        return quantized
    scales = np.broadcast_to(formats.weight_scales, layer.out_shape.channels)[:, np.newaxis]
    weights = layer.by_channel(layer.weights).astype(np.float64) / scales
    rounded = layer.by_channel(quantized.parameters.weights).astype(np.float64)
    is_short = quantized.parameters.weights.itemsize * 8 <= WEIGHT_BITS or few_weight_bits(quantized) > 0
    if layer.qdq_scales is not None or not is_short or weights.shape[1] > MOST_COVARIANCES:
        means = input_means(layer, inputs, formats.x.zero_point)
    else:
        moments = InputMoments.of(layer, inputs, formats.x.zero_point)
        means, groups = moments.means, len(moments.means)
        parts = zip(np.split(weights, groups), moments.covariances, strict=True)
        rounded = np.concatenate([round_weights(part, covariance) for part, covariance in parts])
    wanted = input_means(layer, exact_inputs, exact_format.zero_point) * (exact_format.scale / formats.x.scale)
    correction = mean_error(weights, wanted, rounded, means) * formats.sum_scales
    bias = (layer.bias + correction).astype(np.float32)
    integers = layer.from_channels(rounded).astype(quantized.parameters.weights.dtype)
    better = replace(quantized, parameters=IntegerParameters(integers, formats.round_bias(bias)))
    return better if largest_sum(better) <= ACCUMULATOR_MAX else quantized
