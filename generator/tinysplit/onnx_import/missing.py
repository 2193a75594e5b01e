"""All nodes of a network that are not supported, in one message: the import goes on behind each for the others."""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import onnx
from onnx import ModelProto, NodeProto

from tinysplit.common.errors import InputError
from tinysplit.network.layers import Shape, Softmax
from tinysplit.onnx_import.layout import Layout
from tinysplit.onnx_import.left_out import can_be_left_out
from tinysplit.onnx_import.node import NodeError, Tensor

MOST_NAMES = 8  # of nodes with one message


class Missing:
    """What nodes of `model` lack, as far as they were seen."""

    def __init__(self, model: ModelProto) -> None:
        self.model = model
        self.errors: list[NodeError] = []
        self.outputs: set[str] = set()  # of these nodes
        self.unknown: set[str] = set()  # values behind them of which the shape is not known

    def add(self, node: NodeProto, error: NodeError) -> list[Tensor]:
        """Note what a node lacks, and return what stands for its outputs, none if their shapes are not known."""
        self.errors.append(error)
        self.outputs.update(filter(None, node.output))
        shapes = [self._shapes.get(name, ()) for name in node.output]
        if not all(shapes) or min(size for shape in shapes for size in shape) < 1:
            self.unknown.update(node.output)
            return []
        return [_stand_in(name, shape) for name, shape in zip(node.output, shapes, strict=True)]

    def skips(self, node: NodeProto) -> bool:
        """Return whether a node reads what is not known, so that nothing can be said of it."""
        if self.unknown.isdisjoint(node.input):
            return False
        self.unknown.update(node.output)
        return True

    def error(self, path: Path) -> InputError:
        """Return the message: what a single node lacks, or all that nodes lack, each once with the nodes' names.

        It ends with what can be left out, if there is such a part.
        """
        text = str(self.errors[0])
        if len(self.errors) > 1:
            texts = "; ".join(self._texts())
            text = f"{path} has {len(self.errors)} nodes that are not supported: {texts}"
        return InputError(text + can_be_left_out(path, self.model, self.outputs, self.unknown))

    def _texts(self) -> Iterator[str]:
        by_reason: dict[tuple[str, str], list[NodeError]] = {}
        for error in self.errors:
            by_reason.setdefault((error.op_type, error.template), []).append(error)
        for first, *others in by_reason.values():
            names = ", ".join(f"'{other.name}'" for other in others[:MOST_NAMES])
            more = f" and {len(others) - MOST_NAMES} more" if len(others) > MOST_NAMES else ""
            yield f"{first} (also {names}{more})" if others else str(first)

    @cached_property
    def _shapes(self) -> dict[str, tuple[int, ...]]:
        inferred = onnx.shape_inference.infer_shapes(self.model, data_prop=True).graph
        return {
            value.name: tuple(dimension.dim_value for dimension in value.type.tensor_type.shape.dim)
            for value in (*inferred.value_info, *inferred.output)
        }


def _stand_in(name: str, shape: tuple[int, ...]) -> Tensor:
    """Return a value of this shape, which some layer computes."""
    layout = Layout.identity(shape)
    size = Shape(1, 1, layout.order.size)
    return Tensor(layout, Softmax(name=name, inputs=(name,), output=name, in_shape=size), name, is_shared=True)
