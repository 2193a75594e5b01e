"""Weights and biases that make up for what few bits lose, from calibration samples; boards do nothing more for it.

The network runs layer by layer in its own integers, beside itself in 16 bits. In each layer

- weights are rounded up or down so that their errors cancel on the inputs that were seen: the error of an output
  channel is (rounded - exact) * u for the values u under its window, so its variance is e' C e with the rounding errors
  e and the covariance C of u. Starting with the nearest integers, one weight after the other takes the integer that
  makes this least, until none changes (coordinate descent on the objective of "Optimal Brain Quantization");
- the bias then takes away what is left on average: rounding, clipping and the layers before shift the mean of every
  channel ("Data-Free Quantization Through Weight Equalization and Bias Correction", Nagel et al., 2019).

Weights of 16 bits are rounded like this, too, where their sums leave them no more than 8: in wide layers.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tinysplit.network.fixed_point.arithmetic import ACCUMULATOR_MAX
from tinysplit.network.fixed_point.formats import FloatArray, IntArray, ValueFormat
from tinysplit.network.graph import NETWORK_INPUT
from tinysplit.network.integer_reference import CHUNK, quantize_input
from tinysplit.network.layers.conv import Conv
from tinysplit.network.layers.dense import Dense
from tinysplit.network.layers.depthwise_conv import DepthwiseConv
from tinysplit.network.quantized_graph import QuantizedGraph, QuantizedLayer
from tinysplit.quantize.choose_formats import few_weight_bits, largest_sum

MOST_SAMPLES = 128
WINDOW_VALUES = 1 << 22  # at a time: bounds the memory
DAMPING = 0.01  # of the mean variance: inputs that hardly vary keep their nearest weights
SWEEPS = 8  # over all weights, at most
MOST_TOGETHER = 4608  # weights of a channel, whose covariances take 170 MB; more of them stay the nearest integers
WEIGHT_BITS = 8

Floats = NDArray[np.float64]
Weighted = Conv | DepthwiseConv | Dense


def compensate(quantized: QuantizedGraph, reference: QuantizedGraph, x: FloatArray) -> QuantizedGraph:
    """Return `quantized` with other weights and biases; `reference` is the network in more bits, `x` are samples.

    Formats stay. A network that came quantized stays as it is, and so do weights that came as integers.
    """
    graph = quantized.graph
    if graph.own_formats:
        return quantized
    own, exact = (_Run(network, x[:MOST_SAMPLES]) for network in (quantized, reference))
    layers = []
    for index, (layer, model) in enumerate(zip(quantized.layers, reference.layers, strict=True)):
        keeps_weights = layer.layer.name in graph.own_weight_steps
        better = _compensated(
            layer, own.inputs(index)[0], exact.inputs(index)[0], model.formats.x, keeps_weights=keeps_weights
        )
        layers.append(better)
        own.step(index, better)
        exact.step(index, model)
    return replace(quantized, graph=graph.with_layers([layer.layer for layer in layers]), layers=tuple(layers))


def compensate_wide(quantized: QuantizedGraph, x: FloatArray) -> QuantizedGraph:
    """Return a network of 16 bits in which layers have other weights and biases if their sums leave 8 bits or fewer.

    The others stay as they are. What a layer reads counts as exact: it comes from layers that are compensated already.
    """
    graph = quantized.graph
    if graph.own_formats or not any(map(few_weight_bits, quantized.layers)):
        return quantized
    run = _Run(quantized, x[:MOST_SAMPLES])
    layers = []
    for index, layer in enumerate(quantized.layers):
        better = layer
        if few_weight_bits(layer):
            values = run.inputs(index)[0]
            keeps_weights = layer.layer.name in graph.own_weight_steps
            better = _compensated(layer, values, values, layer.formats.x, keeps_weights=keeps_weights)
        layers.append(better)
        run.step(index, better)
    return replace(quantized, graph=graph.with_layers([layer.layer for layer in layers]), layers=tuple(layers))


class _Run:
    """A network on its way through the layers: what later layers read, all samples at once."""

    def __init__(self, quantized: QuantizedGraph, x: FloatArray) -> None:
        self.graph = quantized.graph
        self.values = {NETWORK_INPUT: quantize_input(quantized, x)}

    def inputs(self, index: int) -> list[IntArray]:
        """Return what layer `index` reads."""
        shapes = self.graph.layers[index].in_shapes
        read = (self.values[source] for source in self.graph.predecessors[index])
        return [value.reshape(len(value), *shape) for value, shape in zip(read, shapes, strict=True)]

    def step(self, index: int, layer: QuantizedLayer) -> None:
        """Compute a layer, and forget what no later one reads."""
        inputs = self.inputs(index)
        parts = (
            layer.layer.integer_reference(layer, *(value[start : start + CHUNK] for value in inputs))
            for start in range(0, len(inputs[0]), CHUNK)
        )
        self.values[index] = np.concatenate(list(parts))
        self.values = {source: v for source, v in self.values.items() if self.graph.last_reader(source) > index}


@dataclass(frozen=True, eq=False)
class _Moments:
    """Means of the values under a layer's windows (groups x weights of a channel), and their covariances."""

    means: Floats
    covariances: Floats

    @classmethod
    def of(cls, layer: Weighted, values: IntArray, zero_point: int) -> "_Moments":
        """Sum up in float64, which is exact for up to 2**22 windows of 16-bit integers: the order does not count."""
        count, sums, products = 0, np.zeros(1), np.zeros(1)
        for windows in _windows(layer, values, zero_point):
            count += windows.shape[1]
            sums = sums + windows.sum(axis=1)
            products = products + windows.swapaxes(1, 2) @ windows
        means = sums / count
        return cls(means, products / count - means[:, :, np.newaxis] * means[:, np.newaxis, :])


def _windows(layer: Weighted, values: IntArray, zero_point: int) -> Iterator[Floats]:
    """Yield the windows of some samples after the other, less the zero point, which is what padding holds."""
    chunk = max(WINDOW_VALUES // layer.windows(values[:1]).size, 1)
    for start in range(0, len(values), chunk):
        yield layer.windows(values[start : start + chunk].astype(np.float64) - zero_point)


def _means(layer: Weighted, values: IntArray, zero_point: int) -> Floats:
    sums = [(windows.sum(axis=1), windows.shape[1]) for windows in _windows(layer, values, zero_point)]
    means: Floats = sum(part for part, _ in sums) / sum(count for _, count in sums)
    return means


def _compensated(
    quantized: QuantizedLayer, own: IntArray, exact: IntArray, exact_format: ValueFormat, *, keeps_weights: bool
) -> QuantizedLayer:
    """Return a layer with other weights and bias for its inputs `own`, which should be `exact`.

    It stays as it is where it has no windows, and where its sums would not fit 32 bits any more.
    """
    layer, formats = quantized.layer, quantized.formats
    if formats.weight_bits is None or not isinstance(layer, Weighted):
        return quantized
    steps = np.broadcast_to(formats.weight_scales, layer.out_shape.channels)[:, np.newaxis]
    weights = layer.by_channel(layer.parameters["weights"]).astype(np.float64) / steps
    rounded = layer.by_channel(quantized.constants["weights"]).astype(np.float64)
    is_short = formats.weight_bits <= WEIGHT_BITS or few_weight_bits(quantized) > 0
    if keeps_weights or not is_short or weights.shape[1] > MOST_TOGETHER:
        means = _means(layer, own, formats.x.zero_point)
    else:
        moments = _Moments.of(layer, own, formats.x.zero_point)
        means, groups = moments.means, len(moments.means)
        parts = zip(np.split(weights, groups), moments.covariances, strict=True)
        rounded = np.concatenate([round_together(part, covariance) for part, covariance in parts])
    wanted = _means(layer, exact, exact_format.zero_point) * (exact_format.scale / formats.x.scale)
    shift = (_sums(weights, wanted) - _sums(rounded, means)) * formats.sum_scales
    bias = (layer.parameters["bias"] + shift).astype(np.float32)
    better = replace(quantized, layer=layer.with_parameters(rounded * steps, bias), replaced=layer)
    return better if largest_sum(better.layer, formats, better.bounds) <= ACCUMULATOR_MAX else quantized


def _sums(weights: Floats, values: Floats) -> Floats:
    """Return the sum of each output channel (output channels x weights) for values of each group."""
    sums: Floats = (weights.reshape(len(values), -1, values.shape[1]) * values[:, np.newaxis]).sum(axis=-1).ravel()
    return sums


def round_together(weights: Floats, covariance: Floats) -> Floats:
    """Return integers near `weights` (output channels x inputs, in steps) whose errors cancel on the inputs.

    Integers of 8 bits go from -127 to 127.
    """
    limit = (1 << (WEIGHT_BITS - 1)) - 1
    variances = covariance.diagonal()
    damped = covariance + DAMPING * variances.mean() * np.eye(len(covariance))
    rounded = np.rint(weights).clip(-limit, limit)
    slopes = (rounded - weights) @ damped
    places = [int(i) for i in np.argsort(-variances, kind="stable") if damped[i, i] > 0]
    for _ in range(SWEEPS):
        before = rounded.copy()
        for i in places:
            best = np.rint(rounded[:, i] - slopes[:, i] / damped[i, i]).clip(-limit, limit)
            slopes += np.outer(best - rounded[:, i], damped[i])
            rounded[:, i] = best
        if np.array_equal(before, rounded):
            break
    return rounded
