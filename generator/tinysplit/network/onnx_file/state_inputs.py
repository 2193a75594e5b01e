"""Inputs that are the first states of recurrent layers: their first axis counts layers and directions, not samples."""

from collections.abc import Iterator

import numpy as np
from onnx import ModelProto, ValueInfoProto, helper, numpy_helper

from tinysplit.network.onnx_file.integer_ends import MOVING

RECURRENT = {"GRU", "LSTM", "RNN"}
FIRST_STATES = slice(5, 7)  # the operands
TAKING = {*MOVING, "Split"}


def with_samples_first(model: ModelProto) -> None:
    """Let such inputs have a first axis of 1, for a sample; the batch that the file has in another place is 1."""
    states = set(_first_states(model))
    for value in model.graph.input:
        if value.name in states:
            _fix_batch(value)
            _add_axis(model, value)


def _first_states(model: ModelProto) -> Iterator[str]:
    """Yield the values that recurrent layers begin with, and what they are taken from, from the last node on."""
    found: set[str] = set()
    for node in reversed(model.graph.node):
        if node.op_type in RECURRENT:
            found.update(filter(None, node.input[FIRST_STATES]))
        elif node.op_type in TAKING and found.intersection(node.output):
            found.add(node.input[0])
    yield from found


def _fix_batch(value: ValueInfoProto) -> None:
    """Give dimensions without a size behind the first one, of which the batch of a state is one, a size of 1."""
    for dimension in value.type.tensor_type.shape.dim[1:]:
        if dimension.dim_value <= 0:
            dimension.Clear()
            dimension.dim_value = 1


def _add_axis(model: ModelProto, value: ValueInfoProto) -> None:
    """Put an axis before a first one that has a size other than 1, behind which the network has none."""
    dimensions = value.type.tensor_type.shape.dim
    if not dimensions or dimensions[0].dim_value <= 1:
        return
    sizes = [dimension.dim_value for dimension in dimensions]
    inner, shape = f"{value.name} of a sample", f"{value.name} shape"
    for node in model.graph.node:
        for index, name in enumerate(node.input):
            if name == value.name:
                node.input[index] = inner
    value.type.tensor_type.shape.CopyFrom(helper.make_tensor_value_info("", 1, [1, *sizes]).type.tensor_type.shape)
    model.graph.initializer.append(numpy_helper.from_array(np.array(sizes, np.int64), shape))
    model.graph.node.insert(0, helper.make_node("Reshape", [value.name, shape], [inner], name=inner))
