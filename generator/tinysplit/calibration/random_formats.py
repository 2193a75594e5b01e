"""Formats for networks with random weights."""

import numpy as np

from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.graph import Graph
from tinysplit.network.integer_reference import quantize_input
from tinysplit.network.layers import Activation
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.quantize.choose_formats import choose_formats, quantize

LARGEST_VALUES = (3.0, 14.0)  # so that formats differ as in trained networks


def quantize_randomly(graph: Graph, bits: int) -> tuple[QuantizedGraph, IntArray]:
    """Return a network with random ranges of values, since its weights are also random, and a random input.

    The input is 1 x the shape of the network's input.
    """
    rng = np.random.default_rng(1)
    clamps = {graph.input_name: Activation()} | {layer.output: layer.activation for layer in graph.layers}
    ranges = {name: _range(clamp, rng.uniform(*LARGEST_VALUES)) for name, clamp in clamps.items()}
    quantized = quantize(graph, choose_formats(graph, ranges, bits), bits)
    low, high = ranges[graph.input_name]
    return quantized, quantize_input(quantized, rng.uniform(low, high, (1, *graph.in_shape)))


def _range(clamp: Activation, largest: float) -> tuple[float, float]:
    return max(clamp.low, -largest), min(clamp.high, largest)
