"""Inputs whose first axis counts no samples: states of recurrent layers, sequences, matrices beside other inputs.

They get a first axis of 1, for a sample.
"""

from collections.abc import Iterator

import numpy as np
from onnx import ModelProto, ValueInfoProto, helper, numpy_helper

from tinysplit.network.onnx_file.integer_ends import MOVING

RECURRENT = {"GRU", "LSTM", "RNN"}
FIRST_STATES = slice(5, 7)  # the operands
TAKING = {*MOVING, "Split"}


def with_samples_first(model: ModelProto) -> None:
    """Let such inputs have a first axis of 1; the batch that states and sequences have in another place is 1.

    Beside an input with a batch of 1 (or a dynamic one), one that begins with a fixed size is no batch.
    """
    constants = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in constants]
    recurrent = set(_of_recurrent_layers(model))
    has_batch = any(_first_size(value) <= 1 for value in inputs if value.name not in recurrent)
    for value in inputs:
        if value.name in recurrent:
            _fix_batch(value)
        if (has_batch or value.name in recurrent) and _first_size(value) > 1:
            _add_axis(model, value)


def _of_recurrent_layers(model: ModelProto) -> Iterator[str]:
    """Yield the sequences of recurrent layers, what they begin with, and what that is taken from."""
    found: set[str] = set()
    for node in reversed(model.graph.node):
        if node.op_type in RECURRENT:
            yield node.input[0]
            found.update(filter(None, node.input[FIRST_STATES]))
        elif node.op_type in TAKING and found.intersection(node.output):
            found.add(node.input[0])
    yield from found


def _first_size(value: ValueInfoProto) -> int:
    """Return the size of the first axis, 0 for one that is not fixed."""
    dimensions = value.type.tensor_type.shape.dim
    return int(dimensions[0].dim_value) if dimensions else 0


def _fix_batch(value: ValueInfoProto) -> None:
    """Give dimensions without a size behind the first one, of which the batch of a state is one, a size of 1."""
    for dimension in value.type.tensor_type.shape.dim[1:]:
        if dimension.dim_value <= 0:
            dimension.Clear()
            dimension.dim_value = 1


def _add_axis(model: ModelProto, value: ValueInfoProto) -> None:
    """Put an axis of 1 before the first one, behind which the network has none."""
    sizes = [dimension.dim_value for dimension in value.type.tensor_type.shape.dim]
    inner, shape = f"{value.name} of a sample", f"{value.name} shape"
    for node in model.graph.node:
        for index, name in enumerate(node.input):
            if name == value.name:
                node.input[index] = inner
    value.type.tensor_type.shape.CopyFrom(helper.make_tensor_value_info("", 1, [1, *sizes]).type.tensor_type.shape)
    model.graph.initializer.append(numpy_helper.from_array(np.array(sizes, np.int64), shape))
    model.graph.node.insert(0, helper.make_node("Reshape", [value.name, shape], [inner], name=inner))
