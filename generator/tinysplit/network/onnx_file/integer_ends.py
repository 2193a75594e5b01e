"""Networks whose input or output is integers: pairs at their ends let them take and give the real values.

Converters of quantized networks leave the first QuantizeLinear and the last DequantizeLinear to the application, and
preprocessing begins with pixels of 8 bits. With these two nodes, such a network is one in QDQ format.
"""

from collections.abc import Iterator, Mapping

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from tinysplit.common.errors import InputError
from tinysplit.network.ends import IntegerInput
from tinysplit.network.onnx_file.opsets import convert_old

INTEGERS = {TensorProto.INT8, TensorProto.UINT8, TensorProto.INT16, TensorProto.UINT16}
MOVING = {
    *("DepthToSpace", "Dropout", "Expand", "Flatten", "Gather", "Identity", "Reshape", "Slice", "SpaceToDepth"),
    *("Squeeze", "Transpose", "Unsqueeze"),
}
IN_PAIRS = {*MOVING, "MaxPool", "Clip"}  # operators that may stand between the two nodes of a pair, on integers
FLOATS = {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE}


def with_float_ends(model: ModelProto) -> dict[str, IntegerInput]:
    """Let `model` take and give real values in place of integers; return what inputs were, by name, without float ones.

    Raises InputError for integers that are neither dequantized nor converted, and as `convert_old`.
    """
    if any(map(_is_integer, model.graph.input)):
        model.CopyFrom(convert_old(model))  # to an opset that has QuantizeLinear
    constants = dict(constants_of(model))
    inputs = [value for value in model.graph.input if value.name not in constants]
    taken = {value.name: _float_input(model, value, constants) for value in inputs if _is_integer(value)}
    for output in model.graph.output:
        _float_output(model, output)
    return taken


def _is_integer(value: ValueInfoProto) -> bool:
    return value.type.tensor_type.elem_type in INTEGERS


def _float_input(model: ModelProto, value: ValueInfoProto, constants: Mapping[str, TensorProto]) -> IntegerInput:
    element = value.type.tensor_type.elem_type
    dtype = helper.tensor_dtype_to_np_dtype(element)
    readers = list(_readers(model, value.name))
    scales = {_scale_of(node, constants, dtype) for node in readers}
    if len(scales) != 1 or None in scales:
        kinds = ", ".join(sorted({f"{node.op_type} '{node.name}'" for node in readers}))
        raise InputError(
            f"input '{value.name}' is {TensorProto.DataType.Name(element)}, which {kinds} read: integers that one "
            "DequantizeLinear or Cast turns into floats are supported"
        )
    ((scale, zero_point),) = (each for each in scales if each)
    value.type.tensor_type.elem_type = TensorProto.FLOAT
    integers, real = f"{value.name} integers", f"{value.name} dequantized"
    operands = _operands(model, value.name, scale, zero_point, dtype)
    for node in model.graph.node:
        _rename_inputs(node, value.name, integers)
    added = [helper.make_node("QuantizeLinear", [value.name, *operands], [integers], name=integers)]
    casts = [node for node in readers if node.op_type == "Cast"]
    if casts:
        added.append(helper.make_node("DequantizeLinear", [integers, *operands], [real], name=real))
    for node in casts:
        if node.input[0] == integers:
            node.CopyFrom(helper.make_node("Identity", [real], [node.output[0]], name=node.name))
        else:  # behind what moves the integers
            node.CopyFrom(
                helper.make_node("DequantizeLinear", [node.input[0], *operands], [node.output[0]], name=node.name)
            )
    nodes = [*added, *model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return IntegerInput(dtype.name, scale, zero_point)


def _float_output(model: ModelProto, value: ValueInfoProto) -> None:
    """Dequantize an output of integers, which have the scale of the QuantizeLinear before it."""
    if not _is_integer(value):
        return
    writers = {output: node for node in model.graph.node for output in node.output}
    node = writers.get(value.name)
    while node is not None and node.op_type in IN_PAIRS:
        node = writers.get(node.input[0])
    if node is None or node.op_type != "QuantizeLinear":
        return
    integers = f"{value.name} integers"
    for each in model.graph.node:
        _rename_inputs(each, value.name, integers)
        for index, name in enumerate(each.output):
            each.output[index] = integers if name == value.name else name
    operands = [integers, *list(node.input)[1:]]
    model.graph.node.append(helper.make_node("DequantizeLinear", operands, [value.name], name=value.name))
    value.type.tensor_type.elem_type = TensorProto.FLOAT


def constants_of(model: ModelProto) -> Iterator[tuple[str, TensorProto]]:
    """Yield the constants of a file with their names."""
    yield from ((tensor.name, tensor) for tensor in model.graph.initializer)
    for node in model.graph.node:
        if node.op_type == "Constant" and node.attribute and node.attribute[0].name == "value":
            yield node.output[0], node.attribute[0].t


def _readers(model: ModelProto, name: str) -> Iterator[NodeProto]:
    """Yield the nodes that read integers, directly or behind what moves them."""
    for node in model.graph.node:
        if name in node.input:
            if node.op_type in IN_PAIRS:
                yield from _readers(model, node.output[0])
            else:
                yield node


def _scale_of(
    node: NodeProto, constants: Mapping[str, TensorProto], dtype: np.dtype[np.generic]
) -> tuple[float, int] | None:
    """Return scale and zero point of the integers that a node reads, None where it does not make floats of them."""
    if node.op_type == "Cast":
        to = next((attribute.i for attribute in node.attribute if attribute.name == "to"), 0)
        return (1.0, 0) if to in FLOATS else None
    if node.op_type != "DequantizeLinear" or any(name and name not in constants for name in node.input[1:]):
        return None
    scale, *zero_point = (numpy_helper.to_array(constants[name]) for name in node.input[1:] if name)
    if scale.size != 1 or any(each.size != 1 or each.dtype != dtype for each in zero_point):
        return None
    return float(scale.item()), int(zero_point[0].item()) if zero_point else 0


def _operands(
    model: ModelProto, name: str, scale: float, zero_point: int, dtype: np.dtype[np.generic]
) -> tuple[str, str]:
    """Add the operands of a pair, and return their names."""
    names = f"{name} scale", f"{name} zero point"
    values = np.array(scale, np.float32), np.array(zero_point, dtype)
    model.graph.initializer.extend(
        numpy_helper.from_array(value, each) for each, value in zip(names, values, strict=True)
    )
    return names


def _rename_inputs(node: NodeProto, name: str, other: str) -> None:
    for index, each in enumerate(node.input):
        if each == name:
            node.input[index] = other
