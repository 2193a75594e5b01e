"""Limits of networks, which are checked before memory is allocated (docs/security.md)."""

from collections.abc import Iterator, Sequence
from math import prod
from pathlib import Path
from typing import Any

import onnx
from numpy.typing import NDArray
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, numpy_helper

from tinysplit.common.errors import InputError, one_line
from tinysplit.common.input_files.limits import CONSTANT_ELEMENTS, MODEL_NODES, VALUE_ELEMENTS

Array = NDArray[Any]

SIZE_DEPENDS_ON_VALUES = {"Compress", "NonZero", "Unique"}  # a few times the size of the operands at most
KEEPS_SIZE = {
    "QuantizeLinear",
    "DequantizeLinear",
}  # that of the first operand, in domains that ONNX does not know, too
_SHAPE_VALUES = 64  # more elements than any shape has


def check_model_size(model: ModelProto, path: Path) -> None:
    """Raise InputError for too many nodes, or for sizes in the file that no board has the memory for."""
    if len(model.graph.node) > MODEL_NODES:
        found = len(model.graph.node)
        raise InputError(f"{path} has {found} nodes, the limit is {MODEL_NODES}: give a smaller network")
    count = 0
    for tensor in (*all_tensors(model), *(sparse.values for sparse in model.graph.sparse_initializer)):
        if min(tensor.dims, default=0) < 0:
            raise InputError(f"{path} has the tensor '{tensor.name}' with a negative size: export the network again")
        count += prod(tensor.dims)
    for value in model.graph.input:
        count += prod(dimension.dim_value for dimension in value.type.tensor_type.shape.dim)
    if count > CONSTANT_ELEMENTS:
        raise InputError(
            f"{path} declares {count} weights and inputs, the limit is {CONSTANT_ELEMENTS}: give a smaller network"
        )


def all_tensors(model: ModelProto) -> Iterator[TensorProto]:
    """Yield the tensors of the network and of the attributes of its nodes, also of graphs in them."""
    yield from _tensors_of(model.graph)


def _tensors_of(graph: GraphProto) -> Iterator[TensorProto]:
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            yield from attribute.tensors
            for inner in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                yield from _tensors_of(inner)


def check_value_size(shape: Sequence[int]) -> None:
    """Raise InputError for the shape of a value that the network computes, with its batch, if it is too large."""
    count = prod(map(int, shape))
    if count > VALUE_ELEMENTS:
        text = "x".join(map(str, shape))
        raise InputError(
            f"the network computes a value of {text} elements, the limit is {VALUE_ELEMENTS}: give a smaller network"
        )


def check_result_size(node: NodeProto, operands: Sequence[Array | None], opset: int, limit: int) -> None:
    """Raise InputError where a node of constants computes more than `limit` elements, or an unknown number.

    Loops and other nodes with graphs of their own have unknown sizes.
    """
    count = _result_elements(node, operands, opset)
    if count is None:
        raise InputError(
            f"{node.op_type} '{node.name}' computes a constant of unknown size: fold constants with ONNX Runtime or "
            "onnxsim, and save the result"
        )
    if count > limit:
        raise InputError(
            f"{node.op_type} '{node.name}' computes a constant of {count} elements, the limit of all constants is "
            f"{CONSTANT_ELEMENTS}: give a smaller network"
        )


def _result_elements(node: NodeProto, operands: Sequence[Array | None], opset: int) -> int | None:
    """Return how many elements the first output has, None where ONNX's shape inference does not tell."""
    if any(attribute.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS) for attribute in node.attribute):
        return None
    given = {name: value for name, value in zip(node.input, operands, strict=True) if value is not None}
    if node.op_type in SIZE_DEPENDS_ON_VALUES:
        return sum(value.size * max(1, value.ndim) for value in given.values())
    if node.op_type in KEEPS_SIZE:
        return given[node.input[0]].size
    graph = onnx.helper.make_graph(
        [node],
        "constant",
        inputs=[
            onnx.helper.make_tensor_value_info(
                name, onnx.helper.np_dtype_to_tensor_dtype(value.dtype), list(value.shape)
            )
            for name, value in given.items()
        ],
        outputs=[onnx.helper.make_empty_tensor_value_info(node.output[0])],
        initializer=[
            numpy_helper.from_array(value, name) for name, value in given.items() if value.size <= _SHAPE_VALUES
        ],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=8)
    try:
        inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True).graph.output[0]
    except (onnx.shape_inference.InferenceError, ValueError, RuntimeError) as error:
        raise InputError(
            f"{node.op_type} '{node.name}' reads constants that cannot be used: {one_line(error)}"
        ) from None
    if not inferred.type.tensor_type.HasField("shape"):
        return None
    sizes = [d.dim_value if d.HasField("dim_value") else -1 for d in inferred.type.tensor_type.shape.dim]
    return None if min(sizes, default=0) < 0 else prod(sizes)
