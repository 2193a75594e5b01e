"""Cross-layer equalization of an ONNX network, to measure what it would bring.

M. Nagel, M. van Baalen, T. Blankevoort, M. Welling, "Data-Free Quantization Through Weight Equalization and Bias
Correction", 2019: between two layers with weights and only functions f(s * x) = s * f(x), s > 0, each channel may be
divided by a factor in the first and multiplied by it in the second. The network computes the same.
"""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, helper, numpy_helper

from tinysplit.network.float_reference import run_float_values

_HOMOGENEOUS = frozenset({"Relu", "LeakyRelu", "MaxPool", "AveragePool", "GlobalAveragePool", "Flatten", "Identity"})
_SMALLEST = 2.0**-6  # factors stay between it and its reciprocal


def equalized(model: ModelProto, path: Path, x: NDArray[np.float32]) -> tuple[ModelProto, int]:
    """Return `model`, which is in `path`, with equalized channels, and the number of pairs of layers.

    A factor is the root of the largest value of its channel on the samples `x` (N x sample_shape).
    """
    pairs = list(_pairs(model))
    constants = {own.name: numpy_helper.to_array(own).astype(np.float64) for own in model.graph.initializer}
    values = run_float_values(path, x, [first.output[0] for first, _ in pairs]) if pairs else {}
    for first, second in pairs:
        by_channel = np.moveaxis(values[first.output[0]], 1, 0)
        largest = np.abs(by_channel.reshape(len(by_channel), -1)).max(axis=1).astype(np.float64)
        factors = np.sqrt(largest / (largest.max() or 1.0)).clip(_SMALLEST)
        for name in first.input[1:]:
            rows = constants[name].reshape(len(factors), -1)
            rows /= factors[:, np.newaxis]
        weights, groups = constants[second.input[1]], _attribute(second, "group", 1)
        by_group = weights.reshape(groups, len(weights) // groups, -1)
        repeated = by_group.size // (by_group.shape[1] * len(factors))  # kernel or pixels of a channel
        by_group *= np.repeat(factors, repeated).reshape(groups, 1, -1)
    result = ModelProto()
    result.CopyFrom(model)
    for own in result.graph.initializer:
        if own.data_type == onnx.TensorProto.FLOAT:
            own.CopyFrom(numpy_helper.from_array(constants[own.name].astype(np.float32), own.name))
    return result, len(pairs)


def _pairs(model: ModelProto) -> Iterator[tuple[NodeProto, NodeProto]]:
    """Yield the layers with weights that nothing but functions with f(s * x) = s * f(x) lies between."""
    readers: dict[str, list[NodeProto]] = defaultdict(list)
    for node in model.graph.node:
        for name in node.input:
            readers[name].append(node)
    constants = {own.name for own in model.graph.initializer if len(readers[own.name]) == 1}
    outputs = {output.name for output in model.graph.output}
    weighted = [node for node in model.graph.node if _has_rows(node) and constants.issuperset(node.input[1:])]
    for first in weighted:
        value = first.output[0]
        while value not in outputs and len(readers[value]) == 1 and readers[value][0].op_type in _HOMOGENEOUS:
            value = readers[value][0].output[0]
        if value not in outputs and len(readers[value]) == 1 and readers[value][0] in weighted:
            yield first, readers[value][0]


def _has_rows(node: NodeProto) -> bool:
    """Return whether a node has weights with the output channels first."""
    return node.op_type == "Conv" or (node.op_type == "Gemm" and _attribute(node, "transB", 0) == 1)


def _attribute(node: NodeProto, name: str, otherwise: int) -> int:
    return next((int(helper.get_attribute_value(own)) for own in node.attribute if own.name == name), otherwise)
