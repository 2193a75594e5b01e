"""An ONNX node with its operands: constants as arrays, activations as `Tensor`."""

import re
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray
from typing_extensions import override

from tinysplit.common.errors import InputError
from tinysplit.network.layers import Layer, Shape
from tinysplit.onnx_import.layout import IndexArray, Layout
from tinysplit.onnx_import.pointwise import Step

Constant = NDArray[Any]


@dataclass(frozen=True)
class Refusal:
    """A use of an operator that is not supported: what its error says behind the node's name, `{}` for each value."""

    template: str

    @override
    def __str__(self) -> str:
        return re.sub(r"\{.*?\}", "...", self.template)


COMPUTED_OPERAND = Refusal("computes its operand {} from the network's input: only constants are supported there")
NO_OPERAND = Refusal("lacks its operand {}")


class NodeError(InputError):
    """A node that is not supported: its operator, its name and the reason, the same `template` for equal reasons."""

    def __init__(self, op_type: str, name: str, template: str, *values: object) -> None:
        super().__init__(f"{op_type} '{name}' {template.format(*values)}")
        self.op_type = op_type
        self.name = name
        self.template = template


@dataclass(eq=False)
class InputSource:
    """An input of the network, by its name; its first reader determines its order and shape in memory."""

    output: str
    layout: Layout
    order: IndexArray | None = None
    shape: Shape | None = None


Producer = Layer | InputSource


@dataclass(frozen=True, eq=False)
class Tensor:
    """An activation: the layer that computes it, or input of the network, and how ONNX sees it."""

    layout: Layout
    producer: Producer
    name: str = ""  # of the ONNX value
    pending: tuple[Step, ...] = ()  # steps on the output of the producer, until a layer reads their result
    padded: str | None = None  # name of the value that a Pad made, until a layer pads
    is_shared: bool = False  # several nodes read it, so that nothing may be folded into its producer

    @override
    def __str__(self) -> str:
        return str(self.producer.out_shape if isinstance(self.producer, Layer) else self.layout)


@dataclass(frozen=True, eq=False)
class Node:
    """An ONNX node; a missing optional operand is None."""

    op_type: str
    name: str
    output: str
    operands: tuple[Tensor | Constant | None, ...]
    names: tuple[str, ...]  # of the operands
    attributes: dict[str, Any]
    opset: int
    outputs: tuple[str, ...] = ()  # all names; one that is missing is empty

    @override
    def __str__(self) -> str:
        return f"{self.op_type} '{self.name}'"

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """All activations that the node reads."""
        return tuple(operand for operand in self.operands if isinstance(operand, Tensor))

    @property
    def tensor(self) -> Tensor:
        """The activation that the node reads, the first of several."""
        return self.tensors[0]

    @property
    def rank(self) -> int:
        """Dimensions of the activation, batch included."""
        return len(self.tensor.layout.shape)

    @property
    def shapes(self) -> str:
        """Shapes of all operands for messages, batch included."""
        layouts = [op.layout if isinstance(op, Tensor) else Layout(op) for op in self.operands if op is not None]
        return ", ".join(map(str, layouts))

    def error(self, refusal: Refusal, *values: object) -> NodeError:
        """Return an error that begins with operator and node name."""
        return NodeError(self.op_type, self.name, refusal.template, *values)

    def moved(self, layout: Layout) -> Tensor:
        """Return the node's activation in another layout."""
        return replace(self.tensor, layout=layout)

    def reading(self, layout: Layout) -> "Node":
        """Return the node with its activation, in another layout, as the only operand."""
        return replace(self, operands=(self.moved(layout),), names=(self.tensor.name,))

    def optional(self, index: int) -> Constant | None:
        """Return the constant operand `index`, None when the node does not give it.

        Raises InputError if an activation gives it.
        """
        operand = self.operands[index] if index < len(self.operands) else None
        if isinstance(operand, Tensor):
            raise self.error(COMPUTED_OPERAND, index)
        return operand

    def constant(self, index: int) -> Constant:
        """Return the constant operand `index`. Raises InputError if the node lacks it or an activation gives it."""
        operand = self.optional(index)
        if operand is None:
            raise self.error(NO_OPERAND, index)
        return operand

    def axes(self) -> tuple[int, ...] | None:
        """Return the axes that newer opsets give as operand 1 and older ones as attribute; negative ones count back."""
        operand = self.optional(1)
        axes = self.attributes.get("axes") if operand is None else operand.tolist()
        return None if axes is None else tuple(axes)

    def pair(self, attribute: str, default: int) -> tuple[int, int]:
        """Return a (height, width) attribute; a 1-D operator has a height of 1."""
        values = self.attributes.get(attribute, [default] * (self.rank - 2))
        height, width = (1, *values)[-2:]
        return int(height), int(width)
