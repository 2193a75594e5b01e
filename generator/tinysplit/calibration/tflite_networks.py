"""Micro-networks of the calibration as .tflite files have them: 8-bit weights, and sums rounded as there."""

from dataclasses import replace
from typing import Any

import numpy as np

from tinysplit.calibration.networks import LARGEST_BYTE, calibration_networks, random_network
from tinysplit.calibration.random_formats import LARGEST_VALUES
from tinysplit.common.choices import BIT_WIDTHS, SHORT_BITS
from tinysplit.network.fixed_point.formats import ValueFormat
from tinysplit.network.graph import Graph
from tinysplit.network.layers import Activation, Conv, Dense, DepthwiseConv, Layer

OPERATORS = {Conv: "CONV_2D", DepthwiseConv: "DEPTHWISE_CONV_2D", Dense: "FULLY_CONNECTED"}
CHOSEN = ("heavy", "odd rows", "pointwise", "deep", "digits", "sound", "small", "few channels", "strided", "multiplied")
RANDOM_NETWORKS = range(4)


def tflite_networks() -> tuple[Graph, ...]:
    """Return networks of 8 bits of layers of all shapes that others of the calibration have."""
    chosen = [graph for graph in calibration_networks() if graph.name in CHOSEN or graph.name.startswith("depthwise")]
    return tuple(map(as_tflite, (*map(random_network, RANDOM_NETWORKS), *chosen)))


def as_tflite(graph: Graph) -> Graph:
    """Return a network as of a .tflite file, with random ranges of values.

    Weights are rounded to 8 bits, each channel with a scale of its own; values have zero points, and formats that end
    where their ReLU does, so that many outputs need no clamp.
    """
    rng = np.random.default_rng(2)
    formats = {graph.input_name: _format(Activation(), rng.uniform(*LARGEST_VALUES))}
    for layer in graph.layers:
        kept = formats[layer.inputs[0]] if layer.keeps_format else None
        formats[layer.output] = kept or _format(layer.activation, rng.uniform(*LARGEST_VALUES))
    layers = tuple(map(_rounded, graph.layers))
    return replace(graph, name=f"{graph.name} (tflite)", layers=layers, qdq_formats=formats)


def _format(clamp: Activation, largest: float) -> ValueFormat:
    low, high = max(clamp.low, -largest), min(clamp.high, largest)
    scale = (high - low) / ((1 << SHORT_BITS) - 1)
    return ValueFormat.of(SHORT_BITS, scale, -(1 << (SHORT_BITS - 1)) - round(low / scale))


def widths_of(graph: Graph) -> tuple[int, ...]:
    """Return the bits in which a network is calibrated: 8 where its sums are rounded as in TensorFlow Lite."""
    return (SHORT_BITS,) if any(layer.rounding for layer in graph.layers) else BIT_WIDTHS


def _rounded(layer: Layer) -> Layer:
    operator = OPERATORS.get(type(layer))
    if operator is None:
        return layer
    rows = layer.by_channel(layer.parameters["weights"])
    scales = np.abs(rows).max(axis=1).astype(np.float64) / LARGEST_BYTE
    weights = np.rint(rows / scales[:, np.newaxis]) * scales[:, np.newaxis]
    changed: dict[str, Any] = {"weights": layer.from_channels(weights.astype(np.float32))}
    return replace(layer, tflite=operator, qdq_scales=scales, **changed)
