"""Quantized networks in QDQ format: QuantizeLinear and DequantizeLinear pairs around float operators.

Pairs on activations are removed, so that the float network is imported like any other; their scales and zero points
become the formats of the values. DequantizeLinear on weights stays, as it folds to a constant; its scale becomes that
of the weights.

After an operator that keeps the format of its input, a pair can only clamp: quantizers drop a Relu that a pair
implies. Such a pair becomes a Clip.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, numpy_helper

from tinysplit.common.errors import InputError
from tinysplit.network.fixed_point.formats import ValueFormat

MOVING = {"Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Pad", "Dropout"}
KEEPING = {*MOVING, "MaxPool", "GlobalMaxPool", "ReduceMax", "Resize"}  # their layers keep the format of the input
WEIGHTED = {"Conv", "ConvTranspose", "Gemm", "MatMul"}
BITS = {
    "int8": (8, 0),
    "uint8": (8, 128),
    "int16": (16, 0),
    "uint16": (16, 32768),
}  # bits, and the offset to signed integers


@dataclass(frozen=True, eq=False)
class QdqFormats:
    """Formats of a QDQ network: of activations by value name, scales of weights by node name."""

    values: Mapping[str, ValueFormat] = field(default_factory=dict)
    weight_scales: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)


def extract_qdq(model: ModelProto) -> tuple[ModelProto, QdqFormats]:
    """Return the float network without pairs on activations, and their formats. The model is not changed.

    Raises InputError for pairs that do not belong together and for widths other than 8 and 16 bits.
    """
    float_model = ModelProto()
    float_model.CopyFrom(model)
    graph = _Network(float_model)
    values: dict[str, ValueFormat] = {}
    replaced: dict[str, str] = {}
    for node in float_model.graph.node:
        if node.op_type == "DequantizeLinear" and node.input[0] in graph.writers:
            quantize = graph.writers[node.input[0]]
            source = replaced.get(node.input[0], replaced.get(quantize.input[0], quantize.input[0]))
            own = graph.format(quantize, node)
            values.setdefault(graph.stored(source, replaced), own)
            low, high = _narrowed(own, values.get(graph.stored(source, replaced, KEEPING)))
            if np.isfinite([low, high]).any():
                _make_clip(float_model, node, source, low, high)
                source = node.output[0]
                values[source] = own
            else:
                replaced[node.output[0]] = source
            replaced[quantize.output[0]] = source
    steps = {node.name: step for node in float_model.graph.node if (step := graph.weight_scale(node)) is not None}
    _reconnect(float_model, replaced)
    return float_model, QdqFormats(values, steps)


def _narrowed(own: ValueFormat, held: ValueFormat | None) -> tuple[float, float]:
    """Return the bounds of `own` that clamp values of the format `held` (None: any), infinite where they do not."""
    low, high = own.dequantize(np.array([own.low, own.high])).tolist()
    if held is None:
        return low, high
    return (
        low if held.quantize(np.array(low)) > held.low else -np.inf,
        high if held.quantize(np.array(high)) < held.high else np.inf,
    )


def _make_clip(model: ModelProto, dequantize: NodeProto, source: str, low: float, high: float) -> None:
    """Turn the second node of a pair into a Clip of the value that the pair quantizes."""
    output = dequantize.output[0]
    limits = {f"{output}_low": low, f"{output}_high": high}
    tensors = [numpy_helper.from_array(np.array(limit, np.float32), name) for name, limit in limits.items()]
    model.graph.initializer.extend(tensors)
    dequantize.CopyFrom(onnx.helper.make_node("Clip", [source, *limits], [output], name=dequantize.name))


def _reconnect(model: ModelProto, replaced: Mapping[str, str]) -> None:
    """Connect the readers of dequantized values to the values before quantization, and remove the pairs."""
    kept = [node for node in model.graph.node if node.output[0] not in replaced]
    outputs = {output.name for output in model.graph.output}
    for node in kept:
        for index, name in enumerate(node.input):
            node.input[index] = replaced.get(name, name)
    ends = [onnx.helper.make_node("Identity", [replaced[name]], [name]) for name in outputs if name in replaced]
    del model.graph.node[:]
    model.graph.node.extend([*kept, *ends])


class _Network:
    """A model's nodes by what they write, and its constants."""

    def __init__(self, model: ModelProto) -> None:
        self.writers = {node.output[0]: node for node in model.graph.node}
        self.constants = {tensor.name: tensor for tensor in model.graph.initializer}
        for node in model.graph.node:
            if node.op_type == "Constant":
                self.constants[node.output[0]] = node.attribute[0].t

    def stored(self, name: str, replaced: Mapping[str, str], passed: Collection[str] = MOVING) -> str:
        """Return the value with the same elements as `name`, in any order, before operators of the kinds `passed`."""
        while name in self.writers and self.writers[name].op_type in passed and not self._adds_values(name):
            source = self.writers[name].input[0]
            name = replaced.get(source, source)
        return name

    def _adds_values(self, name: str) -> bool:
        """Return whether a value comes from a Pad with another constant than 0: a pair behind it is its own format."""
        pad = self.writers[name]
        if pad.op_type != "Pad" or len(pad.input) < 3 or not pad.input[2]:  # noqa: PLR2004 - data, pads, constant
            return False
        constant, zero = pad.input[2], 0
        writer = self.writers.get(constant)
        if writer is not None and writer.op_type == "DequantizeLinear":
            constant = writer.input[0]
            zero = int(self._array(writer, 2).item()) if len(writer.input) > 2 else 0  # noqa: PLR2004 - and zero point
        return constant not in self.constants or bool((numpy_helper.to_array(self.constants[constant]) != zero).any())

    def format(self, quantize: NodeProto, dequantize: NodeProto) -> ValueFormat:
        """Return the format of an activation between the two nodes.

        Raises InputError if the two differ in scale or zero point, have these per channel, a scale that is not
        positive, or another type than 8 or 16 bits, and if `quantize` is no QuantizeLinear.
        """
        if quantize.op_type != "QuantizeLinear":
            raise InputError(f"DequantizeLinear '{dequantize.name}' reads a {quantize.op_type}: not supported")
        written, read = (self._scale_and_zero(node) for node in (quantize, dequantize))
        if written != read:
            raise InputError(
                f"QuantizeLinear '{quantize.name}' and DequantizeLinear '{dequantize.name}' have other scales or zero "
                "points: not supported"
            )
        return ValueFormat.of(*written)

    def _scale_and_zero(self, node: NodeProto) -> tuple[int, float, int]:
        scale = self._array(node, 1)
        zero = self._array(node, 2) if len(node.input) > 2 and node.input[2] else np.zeros(1, np.uint8)  # noqa: PLR2004
        if scale.size != 1 or zero.size != 1:
            raise InputError(f"{node.op_type} '{node.name}' has per-channel scales for an activation: not supported")
        if not 0 < float(scale.item()) < np.inf:
            raise InputError(f"{node.op_type} '{node.name}' has the scale {scale.item()}: a positive one is needed")
        if zero.dtype.name not in BITS:
            raise InputError(f"{node.op_type} '{node.name}' makes {zero.dtype.name}: 8 and 16 bits are supported")
        bits, signed = BITS[zero.dtype.name]
        return bits, float(scale.item()), int(zero.item()) - signed

    def _array(self, node: NodeProto, index: int) -> NDArray[np.generic]:
        name = node.input[index]
        if name not in self.constants:
            raise InputError(f"{node.op_type} '{node.name}' computes its scale or zero point: not supported")
        return np.asarray(numpy_helper.to_array(self.constants[name]))

    def weight_scale(self, node: NodeProto) -> NDArray[np.float64] | None:
        """Return the scale of a node's 8-bit weights, per output channel or one for all, None where they have none.

        Weights of ConvTranspose have an axis of the channels of a group alone, so that all groups share scales.
        """
        if node.op_type not in WEIGHTED or len(node.input) < 2:  # noqa: PLR2004 - activation and weights
            return None
        writer = self.writers.get(self.stored(node.input[1], {}))
        if writer is None or writer.op_type != "DequantizeLinear" or writer.input[0] not in self.constants:
            return None
        if self.constants[writer.input[0]].data_type not in (TensorProto.INT8, TensorProto.UINT8):
            return None
        steps = self._array(writer, 1).astype(np.float64).ravel()
        groups = next((attribute.i for attribute in node.attribute if attribute.name == "group"), 1)
        return np.tile(steps, groups) if node.op_type == "ConvTranspose" and steps.size > 1 else steps
