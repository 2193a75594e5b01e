"""Loops that compute a simple recurrent layer, as tf2onnx writes Keras' SimpleRNN: they become the operator RNN.

A step is h = tanh(x[t] * W + h * R + b), or that of a Relu; t counts from 0 to the last row of x.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import GraphProto, ModelProto, NodeProto, helper, numpy_helper

from tinysplit.network.onnx_file.opsets import opset_of

Array = NDArray[Any]
CARRIED = 2  # inputs of a loop, and of its body, before what it carries from step to step; outputs of its body less one
FUNCTIONS = ("Tanh", "Relu")
AXES_OPERAND = 13  # the opset from which axes of Squeeze are an operand


def with_recurrent_loops(model: ModelProto) -> None:
    """Replace loops of `model`, whose nodes are in a topological order, that are recurrent layers."""
    nodes = list(model.graph.node)
    if not any(node.op_type == "Loop" for node in nodes):
        return
    read = {name for node in nodes for name in node.input} | {value.name for value in model.graph.output}
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    sizes = _first_sizes(model)
    replaced: list[NodeProto] = []
    for node in nodes:
        cell = _Cell.of(node, constants) if node.op_type == "Loop" else None
        used = {name for name in node.output if name in read}
        if cell and cell.steps == sizes.get(cell.x) and used <= {cell.last, *cell.states}:
            replaced.extend(cell.nodes(model, node, used))
        else:
            replaced.append(node)
    del model.graph.node[:]
    model.graph.node.extend(replaced)


def _first_sizes(model: ModelProto) -> dict[str, int]:
    """Return the size of the first axis of each value, as far as it is known."""
    graph = onnx.shape_inference.infer_shapes(model).graph
    dimensions = ((value.name, value.type.tensor_type.shape.dim) for value in (*graph.value_info, *graph.input))
    return {name: sizes[0].dim_value for name, sizes in dimensions if sizes}


@dataclass(frozen=True)
class _Cell:
    """What a loop computes: `states` are the names of its outputs that have all of them, `last` of the last one."""

    x: str
    steps: int
    first_h: str
    weights_x: Array  # inputs x units
    weights_h: Array
    bias: Array
    function: str
    last: str
    states: tuple[str, ...]

    @classmethod
    def of(cls, loop: NodeProto, constants: Mapping[str, Array]) -> "_Cell | None":
        """Return what a loop computes, None if it is something else."""
        body = _Body.of(loop, constants)
        steps = body.steps()
        for index, name in enumerate(body.carried):
            value = body.graph.output[index + 1].name
            function = body.node(value)
            if steps is None or function is None or function.op_type not in FUNCTIONS:
                continue
            sums = _Sum()
            if not sums.add(body, function.input[0], name) or sums.weights_x is None or sums.weights_h is None:
                continue
            scans = zip(loop.output[len(body.carried) :], body.graph.output[1 + len(body.carried) :], strict=True)
            states = tuple(outer for outer, inner in scans if body.node(inner.name) is function)
            return cls(
                sums.x,
                steps,
                loop.input[CARRIED + index],
                sums.weights_x,
                sums.weights_h,
                np.broadcast_to(sums.bias, sums.weights_h.shape[1:]),
                function.op_type,
                loop.output[index],
                states,
            )
        return None

    def nodes(self, model: ModelProto, loop: NodeProto, used: set[str]) -> Iterator[NodeProto]:
        """Yield the nodes that compute the used outputs of the loop, and add their constants to the model."""
        name, units = loop.name or loop.output[0], self.weights_h.shape[1]
        own = {
            "weights": self.weights_x.T[np.newaxis],
            "recurrent weights": self.weights_h.T[np.newaxis],
            "bias": np.concatenate([self.bias, np.zeros(units)])[np.newaxis],
        }
        names = [f"{name} {each}" for each in own]
        arrays = zip(own.values(), names, strict=True)
        model.graph.initializer.extend(
            numpy_helper.from_array(values.astype(np.float32), own) for values, own in arrays
        )
        first = f"{name} first state"
        yield self._axis(model, "Unsqueeze", self.first_h, first, 0)
        outputs = [
            f"{name} {each}" if is_used else ""
            for each, is_used in (("states", bool(used.intersection(self.states))), ("last state", self.last in used))
        ]
        yield helper.make_node(
            "RNN",
            [self.x, *names, "", first],
            outputs,
            name=name,
            hidden_size=units,
            activations=[self.function],
        )
        for y in used:
            place = 0 if y in self.states else 1
            yield self._axis(model, "Squeeze", outputs[place], y, 1 - place)

    @staticmethod
    def _axis(model: ModelProto, operator: str, x: str, y: str, axis: int) -> NodeProto:
        """Return a node that adds or removes an axis."""
        if opset_of(model) < AXES_OPERAND:
            return helper.make_node(operator, [x], [y], name=f"{y} axis", axes=[axis])
        axes = f"{y} axes"
        model.graph.initializer.append(numpy_helper.from_array(np.array([axis]), axes))
        return helper.make_node(operator, [x, axes], [y], name=f"{y} axis")


@dataclass(frozen=True)
class _Body:
    """The body of a loop; `carried` are the names of what it has from the step before, `values` known constants."""

    graph: GraphProto
    carried: tuple[str, ...]
    first: Mapping[str, str]  # outer names of what is carried, by inner names
    values: Mapping[str, Array]
    writers: Mapping[str, NodeProto]

    @classmethod
    def of(cls, loop: NodeProto, constants: Mapping[str, Array]) -> "_Body":
        graph: GraphProto = next(each.g for each in loop.attribute if each.name == "body")
        carried = tuple(value.name for value in graph.input[CARRIED:])
        first = dict(zip(carried, loop.input[CARRIED:], strict=True))
        own = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
        writers = {name: node for node in graph.node for name in node.output}
        kept = {
            name: constants[outer]
            for (name, outer), after in zip(first.items(), graph.output[1:], strict=False)
            if outer in constants and after.name == name
        }
        return cls(graph, carried, first, {**constants, **own, **kept}, writers)

    def node(self, name: str) -> NodeProto | None:
        """Return the node that computes a value, behind those that change none."""
        node = self.writers.get(name)
        while node is not None and node.op_type in ("Identity", "Cast"):
            name = node.input[0]
            node = self.writers.get(name)
        return node

    def source(self, name: str) -> str:
        """Return the value that this one is a copy of."""
        while (node := self.writers.get(name)) is not None and node.op_type in ("Identity", "Cast"):
            name = node.input[0]
        return name

    def is_counter(self, name: str) -> bool:
        """Return whether a value is the number of the step: that of the loop, or one that is carried from 0."""
        name = self.source(name)
        if name == self.graph.input[0].name:
            return True
        if name not in self.carried or self.values.get(self.first[name], np.ones(1)).any():
            return False
        after = self.graph.output[1 + self.carried.index(name)].name
        return self._is_next(after, name)

    def _is_next(self, value: str, name: str) -> bool:
        """Return whether a value is `name` + 1."""
        node = self.node(value)
        if node is None or node.op_type != "Add":
            return False
        others = [other for other in node.input if self.source(other) != name]
        return len(others) == 1 and bool((self.values.get(self.source(others[0]), np.zeros(1)) == 1).all())

    def steps(self) -> int | None:
        """Return the steps of a loop that goes on while its number + 1 is less than a constant."""
        node = self.node(self.graph.output[0].name)
        if node is None or node.op_type != "Less":
            return None
        limit = self.values.get(self.source(node.input[1]))
        counters = [name for name in (self.graph.input[0].name, *self.carried) if self.is_counter(name)]
        is_next = any(self._is_next(node.input[0], name) for name in counters)
        return int(limit.item()) if limit is not None and limit.size == 1 and is_next else None


@dataclass
class _Sum:
    """The terms of what a cell is a function of."""

    x: str = ""
    weights_x: Array | None = None
    weights_h: Array | None = None
    bias: Array = field(default_factory=lambda: np.zeros(1))

    def add(self, body: _Body, name: str, state: str) -> bool:
        """Add a value, a sum of constants and products; return whether it is one."""
        constant = body.values.get(body.source(name))
        if constant is not None and constant.ndim <= 1:
            self.bias = self.bias + constant
            return True
        node = body.node(name)
        if node is not None and node.op_type == "Add":
            return all(self.add(body, each, state) for each in node.input)
        return node is not None and node.op_type == "MatMul" and self._add_product(body, node, state)

    def _add_product(self, body: _Body, product: NodeProto, state: str) -> bool:
        weights, left = body.values.get(body.source(product.input[1])), body.source(product.input[0])
        if weights is None:
            return False
        if left == state and self.weights_h is None:
            self.weights_h = weights
            return True
        row = body.node(left)
        is_row = row is not None and row.op_type == "Gather" and body.is_counter(row.input[1])
        if row is None or not is_row or self.weights_x is not None or any(each.i for each in row.attribute):
            return False
        self.x, self.weights_x = row.input[0], weights
        return True
