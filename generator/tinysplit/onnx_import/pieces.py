"""Normalizations that exporters write in pieces: (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon), and x / |x|."""

from collections.abc import Mapping
from dataclasses import dataclass

import onnx
from onnx import ModelProto, NodeProto

from tinysplit.network.onnx_file.living_nodes import keep_living_nodes
from tinysplit.onnx_import.node import Constant

MOST_FLOOR = 1e-6  # of a norm, as exporters keep it from 0; larger ones are no normalization
UNARY, BINARY = 1, 2
HALF, SQUARE = 0.5, 2.0


@dataclass(frozen=True)
class Pieces:
    """Normalization of `value` over `axes`: by its deviation if it `centers`, else by the root of mean or sum."""

    value: str
    axes: tuple[int, ...]
    epsilon: float = 0.0
    centers: bool = False
    is_sum: bool = False


@dataclass(frozen=True)
class _Root:
    """The square root of the mean (or sum) of the squares of `value`."""

    value: str
    axes: tuple[int, ...]
    epsilon: float
    is_sum: bool


def take_pieces(model: ModelProto, constants: Mapping[str, Constant]) -> dict[str, Pieces]:
    """Return the normalizations of a model, by the output of their last nodes, which then read nothing but `value`.

    Nodes that nothing else reads are removed.
    """
    graph = _Pieces(model, constants)
    found = {node.output[0]: pieces for node in model.graph.node if (pieces := graph.ending_at(node))}
    for node in model.graph.node:
        if node.output[0] in found:
            node.input[:] = [found[node.output[0]].value] * BINARY
    if found:
        keep_living_nodes(model)
    return found


class _Pieces:
    """The nodes of a graph, by what they compute."""

    def __init__(self, model: ModelProto, constants: Mapping[str, Constant]) -> None:
        self.nodes = {name: node for node in model.graph.node for name in node.output}
        self.constants = constants

    def ending_at(self, node: NodeProto) -> Pieces | None:
        """Return the normalization of which `node` is the last one: x / root or x * (1 / root)."""
        if node.op_type == "Div":
            alternatives = [(node.input[0], self._root(node.input[1]))]
        elif node.op_type == "Mul":
            alternatives = [(x, self._reciprocal(y)) for x, y in (node.input, node.input[::-1])]
        else:
            return None
        for x, root in alternatives:
            if root is None or not self._are_equal(x, root.value):
                continue
            centered = self._centered(x, root.axes)
            if centered and not root.is_sum:
                return Pieces(centered, root.axes, root.epsilon, centers=True)
            return Pieces(x, root.axes, root.epsilon, is_sum=root.is_sum)
        return None

    def _node(self, name: str, *operators: str) -> NodeProto | None:
        """Return the node that computes a value if it is one of these."""
        node = self.nodes.get(name)
        return node if node is not None and node.op_type in operators else None

    def _number(self, name: str) -> float | None:
        """Return a constant number, None for other values."""
        constant = self.constants.get(name)
        return float(constant.item()) if constant is not None and constant.size == 1 else None

    def _with_number(self, name: str, *operators: str) -> tuple[str, float] | None:
        """Return the operands of an operator (of either order) on a value and a number."""
        node = self._node(name, *operators)
        if node is None or len(node.input) < BINARY:
            return None
        for value, other in (node.input[:2], node.input[1::-1]):
            number = self._number(other)
            if number is not None and value not in self.constants:
                return value, number
        return None

    def _reciprocal(self, name: str) -> _Root | None:
        """Return the root r of a value 1 / r."""
        node = self._node(name, "Reciprocal", "Div", "Pow")
        if node is None:
            return None
        if node.op_type == "Reciprocal":
            return self._root(node.input[0])
        if node.op_type == "Div":
            return self._root(node.input[1]) if self._number(node.input[0]) == 1 else None
        return self._mean(node.input[0]) if self._number(node.input[1]) == -HALF else None

    def _root(self, name: str) -> _Root | None:
        """Return what a value is the root of; it may be kept from 0, and repeated for the shape of x."""
        node = self._node(name, "Sqrt", "Pow", "ReduceL2", "Expand", "Clip", "Max", "Add")
        if node is None:
            return None
        match node.op_type:
            case "Sqrt":
                return self._mean(node.input[0])
            case "Pow":
                return self._mean(node.input[0]) if self._number(node.input[1]) == HALF else None
            case "ReduceL2":
                return self._reduced(node, node.input[0], 0.0, is_sum=True)
            case "Expand":
                shape = self._node(node.input[1], "Shape")
                root = self._root(node.input[0])
                return root if shape is not None and root is not None and shape.input[0] == root.value else None
        floor = self._with_number(name, "Clip", "Max", "Add")
        has_upper = node.op_type == "Clip" and any(node.input[2:])
        root = self._root(floor[0]) if floor and not has_upper and 0 <= floor[1] <= MOST_FLOOR else None
        return root if root and root.is_sum else None

    def _mean(self, name: str) -> _Root | None:
        """Return what a value is the mean, or the sum, of the squares of, and the epsilon that is added."""
        added = self._with_number(name, "Add", "Max")
        value, epsilon = added or (name, 0.0)
        node = self._node(value, "ReduceMean", "ReduceSum", "ReduceSumSquare")
        if node is None or epsilon < 0 or (self._node(name, "Max") is not None and epsilon > MOST_FLOOR):
            return None
        is_sum = node.op_type != "ReduceMean"
        if node.op_type == "ReduceSumSquare":
            return self._reduced(node, node.input[0], epsilon, is_sum=True)
        squared = self._node(node.input[0], "Mul", "Pow")
        if squared is None:
            return None
        is_square = squared.input[0] == squared.input[1] if squared.op_type == "Mul" else False
        is_square |= squared.op_type == "Pow" and self._number(squared.input[1]) == SQUARE
        return self._reduced(node, squared.input[0], epsilon, is_sum=is_sum) if is_square else None

    def _reduced(self, node: NodeProto, value: str, epsilon: float, *, is_sum: bool) -> _Root | None:
        axes = self._axes(node)
        return _Root(value, axes, epsilon, is_sum) if axes else None

    def _axes(self, node: NodeProto) -> tuple[int, ...] | None:
        """Return the axes of a reduction that keeps them with a size of 1, None for another one."""
        attributes = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
        axes = attributes.get("axes")
        if len(node.input) > UNARY:
            axes = self.constants.get(node.input[1])
        return tuple(int(axis) for axis in axes) if axes is not None and attributes.get("keepdims", 1) else None

    def _centered(self, name: str, axes: tuple[int, ...]) -> str | None:
        """Return x of a value x - mean(x)."""
        node = self._node(name, "Sub")
        mean = self._node(node.input[1], "ReduceMean") if node is not None else None
        is_mean = node is not None and mean is not None and mean.input[0] == node.input[0]
        return node.input[0] if node is not None and mean is not None and is_mean and self._axes(mean) == axes else None

    def _are_equal(self, name: str, other: str) -> bool:
        """Return whether two values are one, or differences of the same values."""
        first, second = self._node(name, "Sub"), self._node(other, "Sub")
        return name == other or (first is not None and second is not None and first.input == second.input)
