"""Networks with other floats than float32: their constants and casts become those of float32."""

from collections.abc import Iterator

import numpy as np
from onnx import GraphProto, ModelProto, TensorProto, ValueInfoProto, numpy_helper

from tinysplit.onnx_import.size_limits import all_tensors

OTHER_FLOATS = {TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE}


def as_float32(model: ModelProto) -> None:
    """Let `model` compute in float32 throughout."""
    for tensor in all_tensors(model):
        if tensor.data_type in OTHER_FLOATS:
            values = numpy_helper.to_array(tensor).astype(np.float32)
            tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
    for value in _values(model.graph):
        if value.type.tensor_type.elem_type in OTHER_FLOATS:
            value.type.tensor_type.elem_type = TensorProto.FLOAT
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.name in ("to", "dtype") and attribute.i in OTHER_FLOATS:
                attribute.i = TensorProto.FLOAT


def _values(graph: GraphProto) -> Iterator[ValueInfoProto]:
    yield from graph.input
    yield from graph.output
    yield from graph.value_info
