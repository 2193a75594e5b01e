"""Reads QuantizeLinear and DequantizeLinear nodes: the formats and types of pairs, and the scales of weights."""

from collections import defaultdict, deque
from collections.abc import Collection, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto

from tinysplit.common.errors import InputError
from tinysplit.network.fixed_point.formats import SMALLEST, ValueFormat
from tinysplit.network.onnx_file.integer_ends import IN_PAIRS, MOVING
from tinysplit.onnx_import.node import Constant

KEEPING = {
    *MOVING,
    "Split",
    "MaxPool",
    "GlobalMaxPool",
    "ReduceMax",
    "Resize",
    "Relu",
    "Clip",
}  # the format of the input
AFFINE = {"BatchNormalization", "Add", "Sub", "Mul", "Div"}
WEIGHTED = {"Conv", "ConvTranspose", "Gemm", "MatMul"}
BITS = {
    "int8": (8, 0),
    "uint8": (8, 128),
    "int16": (16, 0),
    "uint16": (16, 32768),
}  # bits, and the offset to signed integers
WEIGHT_TYPES = {"int8", "uint8", "int4", "uint4", "int2", "uint2"}
UNSTATED_TYPE = "uint8"  # of QuantizeLinear


class Network:
    """The nodes of a model, by the values that they write and read.

    `constants` are the values that do not depend on the network's input. Raises InputError for scales of blocks.
    """

    def __init__(self, model: ModelProto, constants: Mapping[str, Constant]) -> None:
        self.constants = constants
        self.nodes = [node for node in model.graph.node if node.output[0] not in constants]
        self.inputs = [value.name for value in model.graph.input if value.name not in constants]
        self.outputs = {output.name for output in model.graph.output}
        self.writers = {node.output[0]: node for node in model.graph.node}
        self._readers = defaultdict[str, list[NodeProto]](list)
        for node in model.graph.node:
            for name in node.input:
                self._readers[name].append(node)
            _check_blocks(node)

    def readers(self, name: str, passed: Collection[str] = ()) -> Iterator[NodeProto]:
        """Yield the nodes that read a value, directly or behind operators of the kinds `passed`."""
        waiting = deque(self._readers[name])
        while waiting:
            node = waiting.popleft()
            if node.op_type in passed:
                waiting.extend(self._readers[node.output[0]])
            else:
                yield node

    def check_readers(self, quantize: NodeProto) -> None:
        """Raise InputError where something else than DequantizeLinear, perhaps behind IN_PAIRS, has the integers."""
        names = deque([quantize.output[0]])
        while names:
            name = names.popleft()
            problem = ""
            for node in self._readers[name]:
                if node.op_type in IN_PAIRS:
                    names.append(node.output[0])
                elif node.op_type != "DequantizeLinear":
                    problem = f"{node.op_type} '{node.name}' reads its integers"
            if problem:
                raise InputError(
                    f"QuantizeLinear '{quantize.name}' belongs to a quantized network, but to no pair: {problem}; "
                    "give the float network, or one with QuantizeLinear and DequantizeLinear pairs"
                )

    def keeps_format(self, node: NodeProto) -> bool:
        """Return whether the layer of a node keeps its input's format; a Pad does with zeros, a Resize by copies."""
        if node.op_type == "Resize":
            return all(each.s == b"nearest" for each in node.attribute if each.name == "mode")
        if node.op_type != "Pad":
            return node.op_type in KEEPING
        constant = node.input[2] if len(node.input) > 2 else ""  # noqa: PLR2004 - data, pads, constant
        return not constant or (constant in self.constants and not np.any(self.constants[constant]))

    def format(self, node: NodeProto, unstated: str = UNSTATED_TYPE) -> ValueFormat:
        """Return the format of an activation behind QuantizeLinear or in front of DequantizeLinear.

        `unstated` is the type of the integers where the node does not say it.
        Raises InputError for scales and zero points that are computed or per channel, a scale that is not positive or
        no normal float32, and for another type than 8 or 16 bits.
        """
        scale, zero = self._operand(node, 1), self._operand(node, 2)
        if scale.size != 1 or zero.size > 1:
            raise InputError(f"{node.op_type} '{node.name}' has per-channel scales for an activation: not supported")
        if not SMALLEST <= float(scale.item()) < np.inf:
            raise InputError(
                f"{node.op_type} '{node.name}' has the scale {scale.item():g}: a positive normal float32 is needed"
            )
        name = self._element(node, unstated)
        if name not in BITS:
            raise InputError(f"{node.op_type} '{node.name}' makes {name}: 8 and 16 bits are supported")
        bits, offset = BITS[name]
        return ValueFormat.of(bits, float(scale.item()), int(zero.sum()) - offset)

    def format_of_pair(self, quantize: NodeProto, dequantize: NodeProto) -> ValueFormat:
        """Return the format between the two nodes. Raises InputError where they differ, and as `format`."""
        written = self.format(quantize)
        if written != self.format(dequantize, self._element(quantize, UNSTATED_TYPE)):
            raise InputError(
                f"QuantizeLinear '{quantize.name}' and DequantizeLinear '{dequantize.name}' have other scales, zero "
                "points or types: not supported"
            )
        return written

    def described(self, quantize: NodeProto) -> str:
        """Return a pair for messages, with the nodes that read it."""
        named = [
            f"{node.op_type} '{node.name}'"
            for node in self.readers(quantize.output[0], {*IN_PAIRS, "DequantizeLinear"})
        ]
        scale = self._operand(quantize, 1).item()
        zero = int(self._operand(quantize, 2).sum())
        element = self._element(quantize, UNSTATED_TYPE)
        return (
            f"{element} with scale {scale:g} and zero point {zero} for {', '.join(named) or 'the output'} "
            f"(QuantizeLinear '{quantize.name}')"
        )

    def real_bound(self, clip: NodeProto, index: int, values: ValueFormat) -> float:
        """Return the real value of a bound of a Clip on integers of the format `values`, infinite where it has none."""
        bound = self._operand(clip, index)
        if not bound.size:
            return -np.inf if index == 1 else np.inf
        offset = BITS[bound.dtype.name][1]
        return float(values.dequantize(bound.astype(np.int64) - offset).item())

    def drops_relu(self, name: str, values: ValueFormat) -> bool:
        """Return whether the format `values` of a value that can have both signs holds one sign alone."""
        while name in self.writers and self.writers[name].op_type in MOVING:
            name = self.writers[name].input[0]
        has_signs = name in self.writers and self.writers[name].op_type in WEIGHTED | AFFINE
        return has_signs and values.zero_point in (values.low, values.high)

    def weight_scale(self, node: NodeProto) -> NDArray[np.float64] | None:
        """Return the scale of weights of 8 bits or fewer, per output channel or one for all, None where there are none.

        Weights of ConvTranspose have an axis of the channels of a group alone, so that all groups share scales.
        """
        if node.op_type not in WEIGHTED or len(node.input) < 2:  # noqa: PLR2004 - activation and weights
            return None
        name = node.input[1]
        while name in self.writers and self.writers[name].op_type in MOVING:
            name = self.writers[name].input[0]
        writer = self.writers.get(name)
        if writer is None or writer.op_type != "DequantizeLinear" or name not in self.constants:
            return None
        if self.constants[writer.input[0]].dtype.name not in WEIGHT_TYPES:
            return None
        steps = self.constants[writer.input[1]].astype(np.float64).ravel()
        if not (np.isfinite(steps) & (steps > 0)).all():
            return None
        groups = next((attribute.i for attribute in node.attribute if attribute.name == "group"), 1)
        return np.tile(steps, groups) if node.op_type == "ConvTranspose" and steps.size > 1 else steps

    def _element(self, node: NodeProto, unstated: str) -> str:
        """Return the name of the type of a node's integers."""
        zero = self._operand(node, 2)
        if zero.size:
            return zero.dtype.name
        stated = next((attribute.i for attribute in node.attribute if attribute.name == "output_dtype"), 0)
        return TensorProto.DataType.Name(stated).lower() if stated and node.op_type == "QuantizeLinear" else unstated

    def _operand(self, node: NodeProto, index: int) -> Constant:
        """Return an operand, empty where it is left out. Raises InputError if the network computes it."""
        name = node.input[index] if index < len(node.input) else ""
        if name and name not in self.constants:
            raise InputError(
                f"{node.op_type} '{node.name}' reads '{name}' (operand {index}), which the network computes: only "
                "constants are supported there"
            )
        return self.constants[name] if name else np.empty(0, np.uint8)


def _check_blocks(node: NodeProto) -> None:
    size = next((attribute.i for attribute in node.attribute if attribute.name == "block_size"), 0)
    if size and node.op_type in ("QuantizeLinear", "DequantizeLinear"):
        raise InputError(
            f"{node.op_type} '{node.name}' has a scale for every {size} values (block_size): quantize with one scale, "
            "or one for each channel"
        )
