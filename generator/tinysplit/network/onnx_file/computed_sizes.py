"""Sizes that a network computes from the shapes of its values: Resize gets them as constants when a file is read.

Exporters write them as Shape, Slice, Cast, Mul, Floor, Concat and others. They are known, as all shapes are.
"""

from collections.abc import Mapping

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, numpy_helper

from tinysplit.network.onnx_file.integer_ends import constants_of
from tinysplit.network.onnx_session import open_session

OF_SIZES = {"Expand", "Reshape", "Resize"}  # operators with such operands, all behind the first one
LARGEST = 1 << 10  # elements of a value that may be a part of sizes

Array = NDArray[np.generic]


def with_known_sizes(model: ModelProto) -> None:
    """Give nodes of `model`, which are in a topological order, constants in place of sizes that follow from shapes."""
    constants = {name for name, _ in constants_of(model)}
    if not any(node.op_type == "Resize" and set(filter(None, node.input[1:])) - constants for node in model.graph.node):
        return
    sizes = _Sizes(model)
    for node in model.graph.node:
        if node.op_type not in OF_SIZES:
            continue
        for index, name in enumerate(node.input):
            value = sizes.value(name) if index and name and name not in constants else None
            if value is not None:
                known = f"{node.output[0]} operand {index}"
                model.graph.initializer.append(numpy_helper.from_array(value, known))
                node.input[index] = known
                sizes = _Sizes(model)


class _Sizes:
    """Values that follow from constants and shapes."""

    def __init__(self, model: ModelProto) -> None:
        self._nodes = {name: node for node in model.graph.node for name in node.output}
        self._opsets = model.opset_import
        self._values: dict[str, Array | None] = {
            name: numpy_helper.to_array(tensor)
            for name, tensor in constants_of(model)
            if np.prod(tensor.dims) <= LARGEST
        }
        self._shapes = _shapes(model)

    def value(self, name: str) -> Array | None:
        """Return a value, None where it is not known."""
        if name not in self._values:
            node = self._nodes.get(name)
            self._values[name] = None  # also for what a cycle depends on
            if node is not None:
                self._values |= self._computed(node)
        return self._values[name]

    def _computed(self, node: NodeProto) -> Mapping[str, Array | None]:
        if node.op_type == "Shape":
            shape = self._shapes.get(node.input[0])
            attributes = {each.name: each.i for each in node.attribute}
            chosen = slice(attributes.get("start", 0), attributes.get("end"))
            return {node.output[0]: None if shape is None else np.array(shape[chosen], np.int64)}
        known = {each: value for each in node.input if (value := self.value(each)) is not None}
        if not known or len(known) < len(set(filter(None, node.input))):
            return {}
        operands = [numpy_helper.from_array(value, name) for name, value in known.items()]
        outputs = [onnx.helper.make_empty_tensor_value_info(name) for name in node.output]
        graph = onnx.helper.make_graph([node], "sizes", [], outputs, operands)
        session = open_session(onnx.helper.make_model(graph, opset_imports=self._opsets))
        return dict(zip(node.output, session.run(None, {}), strict=True))


def _shapes(model: ModelProto) -> Mapping[str, tuple[int, ...]]:
    """Return the shapes that are known, of a sample: a first axis of unknown size has 1."""
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    found = {}
    for value in (*inferred.value_info, *inferred.input, *inferred.output):
        if value.type.tensor_type.HasField("shape"):
            first, *others = (*(each.dim_value for each in value.type.tensor_type.shape.dim), 1)
            if all(others):
                found[value.name] = (first or 1, *others[:-1])
    return found
