"""Operators that several others compose: they become those when a file is read, each with a value of its own.

LogSoftmax(x) = z - log(sum(exp(z))) with z = x - max(x), where no exponential exceeds 1. Norms are sums of a function
of each element, and a function of the sum. x / y of two activations is x * (1 / y).
"""

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import onnx
from onnx import AttributeProto, ModelProto, NodeProto, helper, numpy_helper

from tinysplit.network.onnx_file.opsets import opset_of

AXES_OPERAND = {"ReduceMax": 18, "ReduceSum": 13}  # opsets from which axes are an operand
ONE_AXIS_OPSET = 13  # before it, LogSoftmax ran over all axes from `axis` on
NORMS = {  # the function of each element, and that of the sum
    "ReduceL1": ("Abs", None),
    "ReduceL2": ("Square", "Sqrt"),
    "ReduceLogSum": (None, "Log"),
    "ReduceSumSquare": ("Square", None),
}
SHAPES = ("Shape", "Size")  # known without the input's values
COMPOSED = ("LogSoftmax", *NORMS)


def with_composed_operators(model: ModelProto) -> None:
    """Replace these operators of `model`, whose nodes are in a topological order."""
    nodes = list(model.graph.node)
    composition = _Composition(model)
    composed = [each for node in nodes for each in composition.nodes(node)]
    if len(composed) > len(nodes):
        del model.graph.node[:]
        model.graph.node.extend(composed)


class _Composition:
    """What replaces the nodes of `model`; constants are added to it."""

    def __init__(self, model: ModelProto) -> None:
        self.model = model
        constants = {tensor.name for tensor in model.graph.initializer}
        self.computed = {value.name for value in model.graph.input} - constants  # what depends on the input's values
        self.opset = opset_of(model)

    def nodes(self, node: NodeProto) -> Iterator[NodeProto]:
        """Yield the nodes that compute the same."""
        if node.op_type not in SHAPES and self.computed.intersection(node.input):
            self.computed.update(node.output)
        is_known = node.domain in ("", "ai.onnx")
        if node.op_type == "LogSoftmax" and is_known:
            yield from self._log_softmax(node)
        elif node.op_type in NORMS and is_known:
            yield from self._norm(node)
        elif node.op_type == "Div" and is_known and self.computed.issuperset(node.input):
            x, y = node.input
            factor = f"{node.output[0]} reciprocal"
            yield helper.make_node("Reciprocal", [y], [factor], name=factor)
            yield helper.make_node("Mul", [x, factor], node.output, name=node.name)
        else:
            yield node

    def _log_softmax(self, node: NodeProto) -> Iterator[NodeProto]:
        x, y = node.input[0], node.output[0]
        axis = next(
            (each.i for each in node.attribute if each.name == "axis"), 1 if self.opset < ONE_AXIS_OPSET else -1
        )
        axes = [axis]
        if self.opset < ONE_AXIS_OPSET:
            rank = self._ranks.get(x, 0)
            axes = list(range(axis + rank * (axis < 0), rank)) or axes
        highest, below, powers, total, logarithm = (
            f"{y} {part}" for part in ("maximum", "below it", "exp", "sum", "log of sum")
        )
        yield self._reduce("ReduceMax", x, highest, axes)
        yield helper.make_node("Sub", [x, highest], [below], name=below)
        yield helper.make_node("Exp", [below], [powers], name=powers)
        yield self._reduce("ReduceSum", powers, total, axes)
        yield helper.make_node("Log", [total], [logarithm], name=logarithm)
        yield helper.make_node("Sub", [below, logarithm], [y], name=node.name)

    def _norm(self, node: NodeProto) -> Iterator[NodeProto]:
        of_element, of_sum = NORMS[node.op_type]
        x, y = node.input[0], node.output[0]
        summed = x
        if of_element:
            summed = f"{y} {of_element.lower()}"
            kind, operands = ("Mul", [x, x]) if of_element == "Square" else (of_element, [x])
            yield helper.make_node(kind, operands, [summed], name=summed)
        total = f"{y} sum" if of_sum else y
        axes = next((list(each.ints) for each in node.attribute if each.name == "axes"), None)
        reduction = self._reduce("ReduceSum", summed, total, axes)
        reduction.name = total if of_sum else node.name
        reduction.input.extend(node.input[1:])
        reduction.attribute.extend(_but_axes(node))
        yield reduction
        if of_sum:
            yield helper.make_node(of_sum, [total], [y], name=node.name)

    def _reduce(self, operator: str, x: str, y: str, axes: list[int] | None) -> NodeProto:
        """Return a node that reduces axes, which stay unless an attribute is added; None for no axes of its own."""
        node = helper.make_node(operator, [x], [y], name=y)
        if axes is not None and self.opset >= AXES_OPERAND[operator]:
            node.input.append(f"{y} axes")
            self.model.graph.initializer.append(numpy_helper.from_array(np.array(axes, np.int64), f"{y} axes"))
        elif axes is not None:
            node.attribute.append(helper.make_attribute("axes", axes))
        return node

    @cached_property
    def _ranks(self) -> dict[str, int]:
        """The number of dimensions of each value, as far as it is known."""
        graph = onnx.shape_inference.infer_shapes(self.model).graph
        return {value.name: len(value.type.tensor_type.shape.dim) for value in (*graph.value_info, *graph.input)}


def _but_axes(node: NodeProto) -> Iterator[AttributeProto]:
    return (attribute for attribute in node.attribute if attribute.name != "axes")
