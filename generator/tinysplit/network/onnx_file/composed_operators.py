"""Operators that several others compose: they become those when a file is read, each with a value of its own.

LogSoftmax(x) = z - log(sum(exp(z))) with z = x - max(x), where no exponential exceeds 1. Norms are sums of a function
of each element, and a function of the sum. x / y of two activations is x * (1 / y). The largest element of TopK and
its number are ReduceMax and ArgMax. The larger one of two activations is y + max(x - y, 0), the smaller one
y - max(y - x, 0). Activations and constants that are concatenated are the activations beside zeros, plus the constants
beside zeros. Gemm of two activations is MatMul, with a scale and a sum, and so is Einsum (einsum.py). Where(c, x, y) of
a computed condition is c * x + (1 - c) * y. A Resize that interpolates between rows and columns is one of the rows,
then one of the columns, but for whole factors, which are simpler together.
Recurrent operators whose batch comes first are those whose steps do, between transpositions.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, TypeProto, ValueInfoProto, helper, numpy_helper

from tinysplit.network.onnx_file.einsum import product_of_matrices
from tinysplit.network.onnx_file.integer_ends import constants_of
from tinysplit.network.onnx_file.living_nodes import keep_living_nodes
from tinysplit.network.onnx_file.opsets import opset_of
from tinysplit.network.onnx_session import open_session

AXES_OPERAND = {"ReduceMax": 18, "ReduceSum": 13}  # opsets from which axes are an operand
PAD_OPERAND_OPSET = 11  # from which the sizes of a Pad are an operand
ONE_AXIS_OPSET = 13  # before it, LogSoftmax ran over all axes from `axis` on
NORMS = {  # the function of each element, and that of the sum
    "ReduceL1": ("Abs", None),
    "ReduceL2": ("Square", "Sqrt"),
    "ReduceLogSum": (None, "Log"),
    "ReduceSumSquare": ("Square", None),
}
SHAPES = ("Shape", "Size")  # known without the input's values
SCALES, SIZES = 2, 3  # operands of Resize
RECURRENT = ("GRU", "LSTM", "RNN")
STEPS_FIRST = (1, 0, 2)  # from batch x steps, and from batch x directions
BATCH_FIRST = ((2, 0, 1, 3), STEPS_FIRST, STEPS_FIRST)  # of all states, the last ones, and cell states
FIRST_STATES = 5  # operands from here on have a batch, but the last one of 8, peepholes
PEEPHOLES = 7
COMPOSED = ("Einsum", "LogSoftmax", "TopK", *NORMS)


def with_composed_operators(model: ModelProto) -> None:
    """Replace these operators of `model`, whose nodes are in a topological order."""
    nodes = list(model.graph.node)
    composition = _Composition(model)
    composed = [each for node in nodes for each in composition.nodes(node)]
    if composed != nodes:
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
        compose = self._composers.get(node.op_type) if node.domain in ("", "ai.onnx") else None
        yield from compose(node) if compose else [node]

    @cached_property
    def _composers(self) -> Mapping[str, Callable[[NodeProto], Iterator[NodeProto]]]:
        return {
            "Concat": self._concat,
            "Div": self._div,
            "Einsum": self._einsum,
            "Gemm": self._product,
            "LogSoftmax": self._log_softmax,
            "Max": self._extreme,
            "Min": self._extreme,
            "Resize": self._resize,
            "TopK": self._top_k,
            "Where": self._choice,
            **dict.fromkeys(NORMS, self._norm),
            **dict.fromkeys(RECURRENT, _steps_first),
        }

    def _concat(self, node: NodeProto) -> Iterator[NodeProto]:
        is_computed = [name in self.computed for name in node.input]
        axis = _attributes(node)["axis"]
        if all(is_computed) or not any(is_computed) or not self._is_float(node.output[0]):
            yield node
            return
        shapes = [self._known_shape(name) for name in node.input]
        axis += len(shapes[0]) * (axis < 0)
        sizes = [shape[axis] if axis < len(shape) else 0 for shape in shapes]
        if not all(sizes):
            yield node
            return
        first = is_computed.index(True)
        padded, parts = [], []  # each activation with the constants behind it, the first one with those before it, too
        for index, name in enumerate(node.input):
            part = name
            if is_computed[index]:
                behind = next((k for k in range(index + 1, len(sizes)) if is_computed[k]), len(sizes))
                pads = np.zeros((2, len(shapes[0])), np.int64)
                pads[:, axis] = sum(sizes[:index]) if index == first else 0, sum(sizes[index + 1 : behind])
                padded.append(f"{node.output[0]} pad {index}")
                yield self._pad(name, padded[-1], pads)
                part = f"{node.output[0]} zeros {index}"
                yield helper.make_node("Shape", [name], [f"{part} shape"], name=f"{part} shape")
                yield helper.make_node("ConstantOfShape", [f"{part} shape"], [part], name=part)
            parts.append(part)
        constants, joined = f"{node.output[0]} constants", padded[0]
        yield helper.make_node("Concat", parts, [constants], name=constants, axis=axis)
        if len(padded) > 1:
            joined = f"{node.output[0]} activations"
            yield helper.make_node("Concat", padded, [joined], name=joined, axis=axis)
        yield helper.make_node("Add", [joined, constants], node.output, name=node.name)

    def _pad(self, x: str, y: str, pads: NDArray[np.int64]) -> NodeProto:
        """Return a Pad with zeros by 2 x rank elements, those before and those behind each axis."""
        node = helper.make_node("Pad", [x], [y], name=y)
        if self.opset < PAD_OPERAND_OPSET:
            node.attribute.append(helper.make_attribute("pads", pads.ravel().tolist()))
        else:
            node.input.append(self._numbers(f"{y} sizes", pads.ravel()))
        return node

    def _div(self, node: NodeProto) -> Iterator[NodeProto]:
        if not self.computed.issuperset(node.input):
            yield node
            return
        x, y = node.input
        factor = f"{node.output[0]} reciprocal"
        yield helper.make_node("Reciprocal", [y], [factor], name=factor)
        yield helper.make_node("Mul", [x, factor], node.output, name=node.name)

    def _einsum(self, node: NodeProto) -> Iterator[NodeProto]:
        sizes = [self._known_shape(name) for name in node.input]
        return product_of_matrices(node, sizes, self._numbers, swaps=node.input[0] not in self.computed)

    def _extreme(self, node: NodeProto) -> Iterator[NodeProto]:
        """Yield what computes the extreme of several activations, or of one and constants that are no single number."""
        bounds = [name for name in node.input if name not in self.computed and np.prod(self._known_shape(name)) == 1]
        compared = (name for name in dict.fromkeys(node.input) if name not in bounds)
        so_far, *others = sorted(compared, key=self.computed.__contains__)
        if not bounds and not others:
            yield helper.make_node("Identity", [so_far], node.output, name=node.name)
        for index, other in enumerate(others):
            is_last = index == len(others) - 1 and not bounds
            y = node.output[0] if is_last else f"{node.output[0]} of {index + 2}"
            difference, excess = f"{y} difference", f"{y} excess"
            operands, join = ([other, so_far], "Add") if node.op_type == "Max" else ([so_far, other], "Sub")
            yield helper.make_node("Sub", operands, [difference], name=difference)
            yield helper.make_node("Relu", [difference], [excess], name=excess)
            yield helper.make_node(join, [so_far, excess], [y], name=node.name if is_last else y)
            so_far = y
        if bounds:
            yield helper.make_node(node.op_type, [so_far, *bounds], node.output, name=node.name)

    def _log_softmax(self, node: NodeProto) -> Iterator[NodeProto]:
        x, y = node.input[0], node.output[0]
        axis = next(
            (each.i for each in node.attribute if each.name == "axis"), 1 if self.opset < ONE_AXIS_OPSET else -1
        )
        axes = [axis]
        if self.opset < ONE_AXIS_OPSET:
            rank = len(self._shapes.get(x, ()))
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
        reduction.attribute.extend(_without(node, "axes"))
        yield reduction
        if of_sum:
            yield helper.make_node(of_sum, [total], [y], name=node.name)

    def _top_k(self, node: NodeProto) -> Iterator[NodeProto]:
        attributes = _attributes(node)
        count = self._constant(node, 1)
        if count is None or count.ravel().tolist() != [1] or not attributes.get("largest", 1):
            yield node
            return
        axis = attributes.get("axis", -1)
        values, numbers = node.output  # ONNX has it with both
        yield self._reduce("ReduceMax", node.input[0], values, [axis])
        yield helper.make_node("ArgMax", [node.input[0]], [numbers], name=node.name, axis=axis)

    def _product(self, node: NodeProto) -> Iterator[NodeProto]:
        if not self.computed.issuperset(node.input[:2]):
            yield node
            return
        attributes, (a, b, *c), y = _attributes(node), node.input, node.output[0]
        steps = [("MatMul", "")]
        for name, operand in (("transA", a), ("transB", b)):
            if attributes.get(name, 0):
                turned = f"{y} operand {name}"
                yield helper.make_node("Transpose", [operand], [turned], name=turned, perm=(1, 0))
                a, b = (turned, b) if name == "transA" else (a, turned)
        if attributes.get("alpha", 1.0) != 1:
            steps.append(("Mul", self._number(f"{y} alpha", attributes["alpha"])))
        if any(c) and attributes.get("beta", 1.0) != 1:
            scaled = f"{y} bias"
            yield helper.make_node("Mul", [c[0], self._number(f"{y} beta", attributes["beta"])], [scaled], name=scaled)
            c = [scaled]
        if any(c):
            steps.append(("Add", c[0]))
        value = a
        for number, (operator, operand) in enumerate(steps, 1):
            is_last = number == len(steps)
            found = y if is_last else f"{y} {operator.lower()}"
            yield helper.make_node(operator, [value, operand or b], [found], name=node.name if is_last else found)
            value = found

    def _choice(self, node: NodeProto) -> Iterator[NodeProto]:
        (condition, x, y), found = node.input, node.output[0]
        constants = [each for each in map(self._constant, [node] * 2, (1, 2)) if each is not None]
        if condition not in self.computed or not all(np.isfinite(each).all() for each in constants):
            yield node  # 0 * infinity is no number
            return
        chosen, other, first, second = (f"{found} {part}" for part in ("chosen", "other", "first", "second"))
        one = self._number(f"{found} one", 1.0)
        yield helper.make_node("Cast", [condition], [chosen], name=chosen, to=TensorProto.FLOAT)
        yield helper.make_node("Sub", [one, chosen], [other], name=other)
        yield helper.make_node("Mul", [x, chosen], [first], name=first)
        yield helper.make_node("Mul", [y, other], [second], name=second)
        yield helper.make_node("Add", [first, second], [found], name=node.name)

    def _number(self, name: str, value: float) -> str:
        """Add a constant and return its name."""
        return self._numbers(name, np.array(value, np.float32))

    def _numbers(self, name: str, values: NDArray[np.generic]) -> str:
        """Add a constant and return its name."""
        self.model.graph.initializer.append(numpy_helper.from_array(values, name))
        return name

    def _reduce(self, operator: str, x: str, y: str, axes: list[int] | None) -> NodeProto:
        """Return a node that reduces axes, which stay unless an attribute is added; None for no axes of its own."""
        node = helper.make_node(operator, [x], [y], name=y)
        if axes is not None and self.opset >= AXES_OPERAND[operator]:
            node.input.append(self._numbers(f"{y} axes", np.array(axes, np.int64)))
        elif axes is not None:
            node.attribute.append(helper.make_attribute("axes", axes))
        return node

    def _resize(self, node: NodeProto) -> Iterator[NodeProto]:
        attributes = _attributes(node)
        before, after = self._shapes.get(node.input[0], ()), self._shapes.get(node.output[0], ())
        sizes = enumerate(zip(before, after, strict=False))
        changed = [axis for axis, (old, new) in sizes if old and new and old != new]
        of_sizes = len(node.input) > SIZES and bool(node.input[SIZES])
        position = SIZES if of_sizes else SCALES
        given = self._constant(node, position)
        if (
            len(changed) <= 1
            or given is None
            or not _interpolates(attributes, [(before[axis], after[axis]) for axis in changed])
        ):
            yield node
            return
        if "axes" in attributes:
            every = np.array(before if of_sizes else np.ones(len(before)), given.dtype)
            every[attributes["axes"]] = given
            given = every
        rows, columns = given.copy(), given.copy()
        for axis in changed[1:]:
            rows[axis] = before[axis] if of_sizes else 1
        if not of_sizes:
            columns[changed[0]] = 1
        between = f"{node.output[0]} rows"
        for name, x, y, values in (
            (between, node.input[0], between, rows),
            (node.name, between, node.output[0], columns),
        ):
            operands = [x, *[""] * (position - 1), self._numbers(f"{y} resized to", values)]
            part = helper.make_node("Resize", operands, [y], name=name)
            part.attribute.extend(_without(node, "axes"))
            yield part

    def _constant(self, node: NodeProto, index: int) -> NDArray[np.generic] | None:
        """Return the value of an operand, None where the node lacks it or the file has no constant for it."""
        tensor = self._tensors.get(node.input[index]) if len(node.input) > index else None
        return None if tensor is None else numpy_helper.to_array(tensor)

    @cached_property
    def _tensors(self) -> dict[str, TensorProto]:
        """The constants of the file, by name."""
        return dict(constants_of(self.model))

    @cached_property
    def _shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each value, as far as it is known: 0 for a size that is not."""
        return {
            value.name: tuple(size.dim_value for size in value.type.tensor_type.shape.dim) for value in self._values
        } | {name: tuple(tensor.dims) for name, tensor in self._tensors.items()}

    def _known_shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a value, of a sample: a first axis of unknown size has 1.

        ONNX Runtime computes a shape that is not known; it is empty, or has zeros, where it cannot.
        """
        shape = self._shapes.get(name, ())
        if name in self._tensors:
            return shape
        if shape and all(shape[1:]):
            return (shape[0] or 1, *shape[1:])
        probe = ModelProto()
        probe.CopyFrom(self.model)
        probe.graph.output.append(helper.make_empty_tensor_value_info(name))
        keep_living_nodes(probe)
        try:
            session = open_session(probe)
            given = {each.name: each.type.tensor_type for each in probe.graph.input}
            inputs = {
                each.name: np.zeros(
                    [size if isinstance(size, int) else 1 for size in each.shape], _dtype(given[each.name])
                )
                for each in session.get_inputs()
            }
            found: NDArray[np.generic] = session.run([name], inputs)[0]
        except Exception:  # noqa: BLE001 - ONNX Runtime's errors derive from nothing more specific
            return shape
        return found.shape

    def _is_float(self, name: str) -> bool:
        return self._types.get(name) == TensorProto.FLOAT

    @cached_property
    def _types(self) -> dict[str, int]:
        """The type of the elements of each value, as far as it is known."""
        return {value.name: value.type.tensor_type.elem_type for value in self._values}

    @cached_property
    def _values(self) -> list[ValueInfoProto]:
        graph = onnx.shape_inference.infer_shapes(self.model, data_prop=True).graph
        return [*graph.value_info, *graph.input, *graph.output]


def _interpolates(attributes: Mapping[str, Any], sizes: list[tuple[int, int]]) -> bool:
    """Return whether a Resize mixes pixels of both axes in another way than by whole factors."""
    mode = attributes.get("mode", b"nearest")
    transformation = attributes.get("coordinate_transformation_mode", b"half_pixel")
    if (
        mode not in (b"linear", b"cubic")
        or transformation == b"tf_crop_and_resize"
        or max(old for old, _ in sizes) == 1
    ):
        return False
    if attributes.get("keep_aspect_ratio_policy", b"stretch") != b"stretch":
        return False
    ends = int(transformation == b"align_corners")  # from pixel to pixel, not across them
    return mode != b"linear" or any((new - ends) % max(old - ends, 1) for old, new in sizes)


def _steps_first(node: NodeProto) -> Iterator[NodeProto]:
    """Yield a recurrent node without `layout`, with transpositions around it if it has one."""
    if not _attributes(node).get("layout"):
        yield node
        return
    inputs, outputs = list(node.input), list(node.output)
    for index, x in enumerate(inputs):
        if x and (index == 0 or FIRST_STATES <= index < PEEPHOLES):
            inputs[index] = f"{node.output[0] or node.name} operand {index}"
            yield helper.make_node("Transpose", [x], [inputs[index]], name=inputs[index], perm=STEPS_FIRST)
    outputs = [f"{y} by steps" if y else "" for y in outputs]
    own = helper.make_node(node.op_type, inputs, outputs, name=node.name)
    own.attribute.extend(_without(node, "layout"))
    yield own
    for before, y, order in zip(outputs, node.output, BATCH_FIRST, strict=False):
        if y:
            yield helper.make_node("Transpose", [before], [y], name=f"{y} by batch", perm=order)


def _dtype(tensor: TypeProto.Tensor) -> np.dtype[Any]:
    return helper.tensor_dtype_to_np_dtype(tensor.elem_type)


def _attributes(node: NodeProto) -> dict[str, Any]:
    return {each.name: helper.get_attribute_value(each) for each in node.attribute}


def _without(node: NodeProto, name: str) -> Iterator[AttributeProto]:
    return (attribute for attribute in node.attribute if attribute.name != name)
