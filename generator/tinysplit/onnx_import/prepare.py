"""Prepare a model for the import: batch size 1, unique node names, no dead nodes."""

from collections import Counter

import onnx
from onnx import ModelProto, ValueInfoProto

from tinysplit.common.errors import InputError, one_line
from tinysplit.network.onnx_file.living_nodes import keep_living_nodes


def prepare(model: ModelProto) -> ModelProto:
    """Return the model for batch size 1; values keep their names.

    Raises InputError where sizes are not known, or contradict each other.
    """
    fixed = ModelProto()
    fixed.CopyFrom(model)
    constants = {tensor.name for tensor in fixed.graph.initializer}
    for value in fixed.graph.input:
        if value.name not in constants:
            _fix_shape(value)
    _forget_shapes(fixed)
    _name_nodes(fixed)
    keep_living_nodes(fixed)
    try:  # without propagation of values, in which ranges and concatenations of themselves have any length
        onnx.shape_inference.infer_shapes(fixed, check_type=True, strict_mode=True)
    except (onnx.shape_inference.InferenceError, ValueError, RuntimeError) as error:
        raise InputError(f"the network's shapes contradict each other: {one_line(error)}") from None
    return fixed


def _fix_shape(value: ValueInfoProto) -> None:
    dimensions = value.type.tensor_type.shape.dim
    if len(dimensions) < 2:  # noqa: PLR2004 - batch and at least one more
        raise InputError(
            f"input '{value.name}' has {len(dimensions)} dimensions: a batch and at least one more are needed"
        )
    if dimensions[0].dim_value > 1:
        raise InputError(
            f"input '{value.name}' has a fixed batch of {dimensions[0].dim_value} (its first dimension): "
            "export the network with a batch of 1 or a dynamic one"
        )
    dimensions[0].Clear()
    dimensions[0].dim_value = 1
    for axis, dimension in enumerate(dimensions):
        if dimension.dim_value <= 0:
            label = f" ('{dimension.dim_param}')" if dimension.dim_param else ""
            raise InputError(
                f"input '{value.name}' has a dynamic dimension {axis}{label}: export the network with a fixed size, "
                "or fix it with python -m onnxruntime.tools.make_dynamic_shape_fixed"
            )


def _forget_shapes(model: ModelProto) -> None:
    """Remove the shapes in the file, which are those of its symbolic batch size."""
    del model.graph.value_info[:]
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")


def _name_nodes(model: ModelProto) -> None:
    """Give every node a unique name: that in the file, or its operator with a number."""
    taken: Counter[str] = Counter()
    names: set[str] = set()
    for node in model.graph.node:
        base = node.name or node.op_type
        while not node.name or node.name in names:
            taken[base] += 1
            node.name = f"{base}_{taken[base]}"
        names.add(node.name)
