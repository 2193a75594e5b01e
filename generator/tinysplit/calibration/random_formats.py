"""Formats for networks with random weights."""

from collections.abc import Iterator, Mapping

import numpy as np

from tinysplit.network.fixed_point.formats import IntArray, ValueFormat
from tinysplit.network.graph import Graph
from tinysplit.network.integer_reference import quantize_input
from tinysplit.network.layers import Activation
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.quantize.choose_formats import choose_formats, quantize
from tinysplit.quantize.value_scales import powers_of_two

LARGEST_VALUES = (3.0, 14.0)  # so that formats differ as in trained networks
FREE_BITS = 8  # values of 8 bits may have any scale, and a zero point


def quantize_randomly(graph: Graph, bits: int, *, may_be_free: bool = True) -> tuple[QuantizedGraph, IntArray]:
    """Return a network with random ranges of values, since its weights are also random, and a random input.

    The input is 1 x the shape of the network's input. Half of the values that may have no Q format have none, unless
    not `may_be_free`.
    """
    rng = np.random.default_rng(1)
    clamps = {graph.input_name: Activation()} | {layer.output: layer.activation for layer in graph.layers}
    ranges = {name: _range(clamp, rng.uniform(*LARGEST_VALUES)) for name, clamp in clamps.items()}
    free = dict(_free_formats(graph, ranges, rng)) if may_be_free and bits == FREE_BITS else {}
    quantized = quantize(graph, choose_formats(graph, ranges, bits, free), bits)
    low, high = ranges[graph.input_name]
    return quantized, quantize_input(quantized, rng.uniform(low, high, (1, *graph.in_shape)))


def _free_formats(
    graph: Graph, ranges: Mapping[str, tuple[float, float]], rng: np.random.Generator
) -> Iterator[tuple[str, ValueFormat]]:
    joined = powers_of_two(graph)
    for name, (low, high) in ranges.items():
        if rng.integers(2) and name not in joined and graph.format_source(name) == name:
            is_positive = low == 0
            steps = (1 << FREE_BITS) - 1 if is_positive else (1 << FREE_BITS) - 2
            zero_point = -(1 << (FREE_BITS - 1)) if is_positive else 0
            yield name, ValueFormat.of(FREE_BITS, (high - low) / steps, zero_point)


def _range(clamp: Activation, largest: float) -> tuple[float, float]:
    return max(clamp.low, -largest), min(clamp.high, largest)
