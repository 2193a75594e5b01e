"""Stand-ins for weights that a model file lacks: estimates of time and memory depend on shapes alone."""

from collections.abc import Iterable
from math import prod

import numpy as np
from onnx import ModelProto, TensorProto, ValueInfoProto, numpy_helper

# The operands of operators that are weights, by their indices.
MATRIX_RANK = 2
WEIGHT_OPERANDS = {
    "BatchNormalization": (1, 2, 3, 4),
    "Conv": (1, 2),
    "ConvTranspose": (1, 2),
    "Gemm": (1, 2),
    "InstanceNormalization": (1, 2),
    "MatMul": (1,),
    "PRelu": (1,),
}
ELEMENTWISE = {"Add", "Clip", "Div", "Mul", "Sub"}  # whose operands are weights if they are vectors or scalars
LOW, HIGH = 0.5, 1.5  # of vectors: none is a variance that cannot be, or a factor or summand that changes nothing


def weight_inputs(model: ModelProto) -> list[ValueInfoProto]:
    """Return the inputs of the network that operators read as weights only, as in exports without parameters.

    The first input is that of the network. A file that has some weights has all of them: inputs are activations.
    """
    constants = {tensor.name for tensor in model.graph.initializer}
    vectors = {value.name for value in model.graph.input if len(value.type.tensor_type.shape.dim) <= 1}
    batches = {value.name for value in model.graph.input if len(value.type.tensor_type.shape.dim) > MATRIX_RANK}
    operands = ((node.input[1], node.op_type) for node in model.graph.node if len(node.input) > 1)
    if any(operator in WEIGHT_OPERANDS and name in constants - vectors for name, operator in operands):
        return []
    as_weights: set[str] = set()
    as_values: set[str] = set()
    for node in model.graph.node:
        positions = WEIGHT_OPERANDS.get(node.op_type, ())
        for index, name in enumerate(node.input):
            is_weight = index in positions or (node.op_type in ELEMENTWISE and name in vectors)
            is_weight &= node.op_type != "MatMul" or name not in batches
            (as_weights if is_weight else as_values).add(name)
    wanted = as_weights - as_values - constants
    return [value for value in model.graph.input[1:] if value.name in wanted and _is_known(value)]


def fill_inputs(model: ModelProto) -> bool:
    """Make stand-ins of all inputs that are weights; return whether there were some."""
    weights = weight_inputs(model)
    for value in weights:
        shape = [dimension.dim_value for dimension in value.type.tensor_type.shape.dim]
        model.graph.initializer.append(_stand_in(value.name, shape))
        model.graph.input.remove(value)
    return bool(weights)


def fill_tensors(tensors: Iterable[TensorProto]) -> None:
    """Replace float tensors, whose values are in files that are missing, by stand-ins."""
    for tensor in tensors:
        tensor.CopyFrom(_stand_in(tensor.name, list(tensor.dims)))


def _is_known(value: ValueInfoProto) -> bool:
    described = value.type.tensor_type
    has_sizes = all(dimension.dim_value > 0 for dimension in described.shape.dim)
    return described.elem_type == TensorProto.FLOAT and has_sizes


def _stand_in(name: str, shape: list[int]) -> TensorProto:
    rng = np.random.default_rng(prod(shape))
    values = rng.standard_normal(shape) if len(shape) > 1 else rng.uniform(LOW, HIGH, shape)
    return numpy_helper.from_array(values.astype(np.float32), name)
