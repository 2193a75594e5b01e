"""What computing a network's constants may take, checked before any is computed (docs/reference/security.md)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isqrt, prod
from typing import Any

import onnx
from numpy.typing import NDArray
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, numpy_helper

from tinysplit.common.errors import InputError, one_line
from tinysplit.common.input_files.limits import CONSTANT_ELEMENTS, CONSTANT_OPERATIONS

Array = NDArray[Any]

# Operators that touch each element of operands and result a few times.
PER_ELEMENT = {
    *("Abs", "Add", "And", "ArgMax", "ArgMin", "BatchNormalization", "Cast"),
    *("CastLike", "Ceil", "Clip", "Concat", "Constant", "ConstantOfShape", "Cos"),
    *("CumSum", "DepthToSpace", "DequantizeLinear", "Div", "Dropout", "DynamicQuantizeLinear", "Elu"),
    *("Equal", "Erf", "Exp", "Expand", "EyeLike", "Flatten", "Floor"),
    *("Gather", "GatherElements", "GatherND", "Greater", "GreaterOrEqual", "HardSigmoid", "HardSwish"),
    *("Identity", "IsInf", "IsNaN", "LeakyRelu", "Less", "LessOrEqual", "Log"),
    *("LogSoftmax", "Max", "Mean", "Min", "Mod", "Mul", "Neg"),
    *("NonZero", "Not", "OneHot", "Or", "PRelu", "Pad", "Pow"),
    *("QuantizeLinear", "Range", "Reciprocal", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp"),
    *("ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare", "Relu"),
    *("Reshape", "Round", "ScatterElements", "ScatterND", "Selu", "Shape", "Sigmoid"),
    *("Sign", "Sin", "Size", "Slice", "Softmax", "Softplus", "SpaceToDepth"),
    *("Split", "Sqrt", "Squeeze", "Sub", "Sum", "Tanh", "Tile"),
    *("Transpose", "Trilu", "Unsqueeze", "Where", "Xor"),
}
PRODUCTS = {"Gemm", "MatMul"}
RANDOM = {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
SIZE_DEPENDS_ON_VALUES = {"Compress", "NonZero", "Unique"}  # a few times the size of the operands at most
OPERATIONS_PER_ELEMENT = 64  # an element is copied several times on its way through ONNX Runtime
IR_VERSION = 8  # any that ONNX Runtime reads
CONTRIBUTED_OPSET = 1  # of the domains of ONNX Runtime's own operators
KEEPS_SIZE = {"QuantizeLinear", "DequantizeLinear"}  # of the first operand, in domains that ONNX does not know, too
_WORD_BYTES = 4
_SHAPE_VALUES = 64  # more elements than any shape has


@dataclass
class ConstantBudget:
    """What is left for the constants of one network: elements of 4 bytes, and operations."""

    elements: int = CONSTANT_ELEMENTS
    operations: int = CONSTANT_OPERATIONS

    def spend(self, node: NodeProto, operands: Sequence[Array | None], opset: int) -> None:
        """Take off what a node of constants costs.

        Raises InputError where that is more than is left, or unknown, as for loops and other nodes with graphs of their
        own, and for texts and random numbers.
        """
        given = {name: value for name, value in zip(node.input, operands, strict=True) if value is not None}
        title = f"{node.op_type} '{node.name}'"
        if node.op_type in RANDOM:
            raise InputError(f"{title} draws random numbers: export the network for inference")
        result = None if _has_graphs(node) else _result(node, given, opset)
        if result is None:
            raise InputError(
                f"{title} computes a constant of unknown size: fold constants with ONNX Runtime or onnxsim, and save "
                "the result"
            )
        count, element_bytes = result
        self.elements -= count * -(-element_bytes // _WORD_BYTES)
        if self.elements < 0:
            raise InputError(
                f"{title} computes a constant of {count} elements, the limit of all constants is {CONSTANT_ELEMENTS} "
                "of 4 bytes: give a smaller network"
            )
        sizes = [value.size for value in operands if value is not None]
        self.operations -= _operations(node.op_type, sizes, count)
        if self.operations < 0:
            raise InputError(
                f"{title} takes the operations on constants beyond {CONSTANT_OPERATIONS}, the limit of a network: "
                "fold constants with ONNX Runtime or onnxsim, and save the result"
            )


def node_model(node: NodeProto, given: Mapping[str, Array], opset: int) -> ModelProto:
    """Return a model of one node; operands with many elements are its inputs, which ONNX Runtime need not copy."""
    inputs = {name for name, value in given.items() if value.size > _SHAPE_VALUES and value.dtype.isbuiltin == 1}
    graph = onnx.helper.make_graph(
        [node],
        "constant",
        inputs=[
            onnx.helper.make_tensor_value_info(
                name, onnx.helper.np_dtype_to_tensor_dtype(given[name].dtype), given[name].shape
            )
            for name in sorted(inputs)
        ],
        outputs=[onnx.helper.make_empty_tensor_value_info(node.output[0])],
        initializer=[numpy_helper.from_array(value, name) for name, value in given.items() if name not in inputs],
    )
    domains = {"": opset, node.domain: opset if node.domain in ("", "ai.onnx") else CONTRIBUTED_OPSET}
    opsets = [onnx.helper.make_opsetid(domain, version) for domain, version in domains.items()]
    return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)


def _operations(operator: str, sizes: Sequence[int], result: int) -> int:
    """Return how many operations an operator takes at most, from the elements of its operands and its result.

    Those of a product of M x K by K x N are M * K * N, the root of M * K, K * N and M * N multiplied. Of operators that
    are not known, each element of the result may depend on each combination of elements, in memory, too.
    """
    every = sum(sizes) + result
    if operator in PRODUCTS:
        return OPERATIONS_PER_ELEMENT * every + isqrt(prod(sizes[:2]) * result)
    return OPERATIONS_PER_ELEMENT * (every if operator in PER_ELEMENT else every + prod(sizes) * result)


def _has_graphs(node: NodeProto) -> bool:
    return any(attribute.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS) for attribute in node.attribute)


def _result(node: NodeProto, given: Mapping[str, Array], opset: int) -> tuple[int, int] | None:
    """Return elements of the first output and bytes of each, None where ONNX's shape inference does not tell.

    Raises InputError for constants that the operator cannot have.
    """
    if node.op_type in SIZE_DEPENDS_ON_VALUES:
        size = sum(value.size * max(1, value.ndim) for value in given.values())
        return size, max(value.itemsize for value in given.values())
    if node.op_type in KEEPS_SIZE:
        return given[node.input[0]].size, _WORD_BYTES
    try:
        model = onnx.shape_inference.infer_shapes(node_model(node, given, opset), strict_mode=True)
    except (onnx.shape_inference.InferenceError, ValueError, RuntimeError) as error:
        raise InputError(
            f"{node.op_type} '{node.name}' reads constants that cannot be used: {one_line(error)}"
        ) from None
    inferred = model.graph.output[0].type.tensor_type
    if not inferred.HasField("shape") or inferred.elem_type in (TensorProto.UNDEFINED, TensorProto.STRING):
        return None  # texts may have any length
    sizes = [d.dim_value if d.HasField("dim_value") else -1 for d in inferred.shape.dim]
    element_bytes = onnx.helper.tensor_dtype_to_np_dtype(inferred.elem_type).itemsize
    return None if min(sizes, default=0) < 0 else (prod(sizes), element_bytes)
